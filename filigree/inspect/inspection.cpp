#include "filigree/inspect/inspection.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <set>

#include "filigree/base/error.h"
#include "filigree/base/progress.h"
#include "filigree/base/threads.h"
#include "filigree/inspect/attended_model.h"
#include "filigree/inspect/attention_lines.h"

namespace filigree::inspect {
namespace {

constexpr size_t kChunk = 256;  // sentences in memory at a time
constexpr size_t kBatch = 8;    // sentences in one forward pass

// A sentence on its way through the model.
struct Work {
  InputSentence input;
  IdPair ids;
  SentenceTokens tokens;
};

struct Result {
  Statistics statistics;
  std::string line;                            ///< of write_attention
  std::optional<SentenceAttention> attention;  ///< when it is to be shown
};

NextSentence open_text(const InspectOptions& options) {
  if (!options.sentences.empty()) {
    return [&all = options.sentences, next = size_t{0}]() mutable -> std::optional<InputSentence> {
      if (next == all.size()) return std::nullopt;
      return all[next++];
    };
  }
  const auto reader = std::make_shared<InputReader>(options.input);
  return [reader] { return reader->next(); };
}

std::vector<Mean> headlines_of(const Statistics& statistics) {
  std::vector<Mean> quantities;
  for (const BlockStatistics& block : statistics.blocks) {
    for (const LayerStatistics& layer : block.layers) {
      Mean density, entropy;
      for (const HeadStatistics& head : layer.heads) {
        density += head[Measure::kDensity];
        entropy += head[Measure::kEntropy];
      }
      quantities.insert(quantities.end(), {density, entropy, layer.diversity.by_heads});
    }
  }
  return quantities;
}

// Everything that is done with one model.
class Inspector {
 public:
  Inspector(const InspectOptions& options, const std::filesystem::path& directory)
      : options_(options), model_(directory) {
    const auto has_pieces = [](const InputSentence& sentence) { return sentence.pieces; };
    if (std::any_of(options.sentences.begin(), options.sentences.end(), has_pieces)) {
      source_ids_.emplace(model_.source_tokenizer());
      target_ids_.emplace(model_.target_tokenizer());
    }
  }

  const AttendedModel& model() const { return model_; }

  void count_words() {
    const NextSentence next = open_text(options_);
    while (const auto sentence = next()) {
      counts_.add(source_tokens(pieces_of(model_.source_tokenizer(), ids_of(*sentence).source),
                                options_.question_words));
    }
  }

  /// Calls `take` with every sentence that `wanted` takes by its line, in order, and with its
  /// result. Returns the number of lines passed over.
  int64_t run(const std::function<bool(int64_t line)>& wanted, bool with_lines, bool with_attention,
              const std::function<void(const Work&, Result)>& take) {
    const NextSentence next = open_text(options_);
    std::optional<ProgressBar> progress;
    if (options_.progress) progress.emplace(0);
    int64_t passed_over = 0, done = 0;
    for (bool more = true; more;) {
      std::vector<Work> chunk;
      while (chunk.size() < kChunk) {
        std::optional<InputSentence> sentence = next();
        more = sentence.has_value();
        if (!more) break;
        if (!wanted(sentence->line)) continue;
        Work work{std::move(*sentence), {}, {}};
        work.ids = ids_of(work.input);
        const size_t longest = std::max(work.ids.source.size(), work.ids.target.size());
        if (work.ids.source.empty() || longest > kLongestSentence) {
          ++passed_over;
        } else {
          chunk.push_back(std::move(work));
        }
      }
      prepare(chunk);
      std::vector<Result> results = measure(chunk, with_lines, with_attention);
      for (size_t i = 0; i < chunk.size(); ++i) take(chunk[i], std::move(results[i]));
      done += static_cast<int64_t>(chunk.size());
      if (progress) progress->update(done, fmt::format("{} sentences", done));
    }
    return passed_over;
  }

 private:
  IdPair ids_of(const InputSentence& sentence) const {
    if (sentence.pieces) {
      return {source_ids_->of(sentence.pieces->source), target_ids_->of(sentence.pieces->target)};
    }
    IdPair ids{model_.source_tokenizer().encode(sentence.source), {}};
    if (sentence.target) ids.target = model_.target_tokenizer().encode(*sentence.target);
    return ids;
  }

  void prepare(std::vector<Work>& chunk) {
    if (!chunk.empty() && !chunk[0].input.target && !chunk[0].input.pieces) {
      std::vector<std::span<const int>> sources;
      for (const Work& work : chunk) sources.emplace_back(work.ids.source);
      auto translations = model_.translate(sources, options_.threads);
      for (size_t i = 0; i < chunk.size(); ++i) chunk[i].ids.target = std::move(translations[i]);
    }
    for (Work& work : chunk) {
      SentenceTokens& tokens = work.tokens;
      tokens.source = source_tokens(pieces_of(model_.source_tokenizer(), work.ids.source),
                                    options_.question_words);
      mark_rare_words(tokens.source, counts_);
      tokens.target = target_tokens(pieces_of(model_.target_tokenizer(), work.ids.target));
      tokens.alignment = std::move(work.input.alignment);
      tokens.parse = std::move(work.input.parse);
      if (tokens.alignment) {
        check_alignment(*tokens.alignment, tokens.source, tokens.target, *options_.input.alignments,
                        work.input.line);
      }
    }
  }

  std::vector<Result> measure(const std::vector<Work>& chunk, bool with_lines,
                              bool with_attention) const {
    std::vector<Result> results(chunk.size());
    std::atomic<size_t> next = 0;
    run_parallel(options_.threads, [&](int) {
      for (size_t begin = next.fetch_add(kBatch); begin < chunk.size();
           begin = next.fetch_add(kBatch)) {
        const size_t end = std::min(begin + kBatch, chunk.size());
        std::vector<IdPair> pairs;
        for (size_t i = begin; i < end; ++i) pairs.push_back(chunk[i].ids);
        std::vector<SentenceAttention> attention = model_.attend(pairs);
        for (size_t i = begin; i < end; ++i) {
          SentenceAttention& of = attention[i - begin];
          results[i].statistics = measure_sentence(of, chunk[i].tokens);
          if (with_lines) {
            results[i].line = attention_line(chunk[i].input.line, chunk[i].tokens, of);
          }
          if (with_attention) results[i].attention = std::move(of);
        }
      }
    });
    return results;
  }

  const InspectOptions& options_;
  AttendedModel model_;
  std::optional<PieceIds> source_ids_, target_ids_;  ///< where pieces are given
  WordCounts counts_;
};

RelationTable read_relations(const InputFiles& input) {
  RelationTable table;
  if (!input.conllu) return table;
  ConlluReader reader(*input.conllu);
  while (const auto parse = reader.next()) table.add(*parse);
  return table;
}

std::string unique_name(const std::filesystem::path& directory,
                        const std::vector<ModelInspection>& others) {
  const auto normal = std::filesystem::absolute(directory / "").lexically_normal().parent_path();
  const std::string name = normal.filename().string();
  const auto taken = [&](const std::string& text) {
    return std::any_of(others.begin(), others.end(),
                       [&](const ModelInspection& m) { return m.name == text; });
  };
  if (!taken(name)) return name;
  int number = 2;
  while (taken(fmt::format("{} ({})", name, number))) ++number;
  return fmt::format("{} ({})", name, number);
}

void assign_roles(ModelInspection& model, const Examples& examples,
                  const RelationTable& relations) {
  for (const AttentionBlock block : model::kAttentionBlocks) {
    auto& layers = model.roles[static_cast<size_t>(block)];
    const auto& statistics = model.statistics.of(block).layers;
    for (size_t l = 0; l < statistics.size(); ++l) {
      layers.emplace_back();
      for (size_t h = 0; h < statistics[l].heads.size(); ++h) {
        layers.back().push_back(roles_of_head(model.statistics, block, l, h, examples, relations));
      }
    }
  }
}

void add_example_lines(std::set<int64_t>& lines, const ModelInspection& model) {
  for (const auto& layers : model.roles) {
    for (const auto& heads : layers) {
      for (const std::vector<Role>& roles : heads) {
        if (roles.empty()) continue;
        const ExamplePair& examples = roles.front().examples;
        if (examples.best) lines.insert(examples.best->line);
        if (examples.worst) lines.insert(examples.worst->line);
      }
    }
  }
}

// A line may be too long for the tokenizer of one model only.
void keep_common_sentences(std::vector<ModelInspection>& models) {
  std::map<int64_t, size_t> times;
  for (const ModelInspection& model : models) {
    for (const ShownSentence& sentence : model.shown) ++times[sentence.line];
  }
  for (ModelInspection& model : models) {
    std::erase_if(model.shown, [&](const ShownSentence& sentence) {
      return times[sentence.line] < models.size();
    });
  }
}

}  // namespace

size_t headline_index(const model::ModelConfig& config, AttentionBlock block, size_t layer,
                      Headline what) {
  size_t layers = layer;
  for (const AttentionBlock before : model::kAttentionBlocks) {
    if (before == block) break;
    layers += static_cast<size_t>(config.layers(before));
  }
  return layers * kHeadlines.size() + static_cast<size_t>(what);
}

Inspection inspect(const InspectOptions& options) {
  Inspection inspection{options.input, {}, read_relations(options.input), 0, options.samples};
  std::vector<Inspector> inspectors;
  for (const auto& directory : options.models) inspectors.emplace_back(options, directory);

  std::set<int64_t> lines;
  for (size_t m = 0; m < inspectors.size(); ++m) {
    Inspector& inspector = inspectors[m];
    ModelInspection model{unique_name(options.models[m], inspection.models),
                          options.models[m],
                          inspector.model().config(),
                          {},
                          {},
                          Bootstrap(options.samples, options.seed),
                          {},
                          {}};
    for (const AttentionBlock block : model::kAttentionBlocks) {
      model.alpha[static_cast<size_t>(block)] = inspector.model().alpha(block);
    }
    inspector.count_words();
    Examples examples;
    const bool with_lines = m == 0 && options.write_attention;
    const auto all = [](int64_t) { return true; };
    inspection.passed_over =
        inspector.run(all, with_lines, false, [&](const Work& work, const Result& result) {
          model.statistics += result.statistics;
          model.bootstrap.add(static_cast<uint64_t>(work.input.line),
                              headlines_of(result.statistics));
          examples.consider(result.statistics, work.input.line);
          if (with_lines) options.write_attention(result.line);
          if (m == 0 && static_cast<int64_t>(lines.size()) < options.shown_sentences) {
            lines.insert(work.input.line);
          }
        });
    if (model.statistics.sentences == 0) {
      throw Error("{}: no line to inspect", options.input.source.string());
    }
    assign_roles(model, examples, inspection.relations);
    inspection.models.push_back(std::move(model));
  }
  if (options.shown_sentences == 0) return inspection;

  for (const ModelInspection& model : inspection.models) add_example_lines(lines, model);
  for (size_t m = 0; m < inspectors.size(); ++m) {
    const auto wanted = [&](int64_t line) { return lines.contains(line); };
    inspectors[m].run(wanted, false, true, [&](const Work& work, Result result) {
      inspection.models[m].shown.push_back(
          {work.input.line, work.tokens.source, work.tokens.target, std::move(*result.attention)});
    });
  }
  keep_common_sentences(inspection.models);
  return inspection;
}

}  // namespace filigree::inspect
