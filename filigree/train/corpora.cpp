#include "filigree/train/corpora.h"

#include <bit>

#include "filigree/base/error.h"
#include "filigree/base/hash.h"
#include "filigree/base/log.h"
#include "filigree/text/corpus_cache.h"

namespace filigree::train {
namespace {

std::vector<text::CorpusSource> corpus_sources(const std::vector<std::filesystem::path>& files,
                                               bool tsv, const std::vector<double>& weights) {
  std::vector<text::CorpusSource> sources;
  for (size_t i = 0; i < files.size(); i += tsv ? 1 : 2) {
    text::CorpusSource source;
    source.source = files[i];
    if (!tsv) source.target = files[i + 1];
    source.tsv = tsv;
    if (!weights.empty()) source.weight = weights[sources.size()];
    sources.push_back(std::move(source));
  }
  return sources;
}

text::BadLines bad_lines(const TrainOptions& options) {
  return options.drop_bad_lines ? text::BadLines::kDrop : text::BadLines::kError;
}

text::Tokenizer train_on(const TrainOptions& options, text::Side side) {
  return text::train_tokenizer(
      text::corpus_lines(corpus_sources(options.train_sets, options.tsv, {}), side,
                         bad_lines(options)),
      options.tokenizer);
}

}  // namespace

model::Tokenizers prepare_tokenizers(const TrainOptions& options, bool resuming) {
  if (resuming) return model::load_tokenizers(options.model, model::load_config(options.model));
  if (options.vocabs.size() == 1) {
    const text::Tokenizer shared = text::Tokenizer::load(options.vocabs[0]);
    return {shared, shared};
  }
  if (options.vocabs.size() == 2) {
    return {text::Tokenizer::load(options.vocabs[0]), text::Tokenizer::load(options.vocabs[1])};
  }
  if (!options.init_from.empty() && !options.new_vocabulary) {
    spdlog::info("the vocabulary is that of {}; --vocabs or --vocab-size would give another",
                 options.init_from.string());
    return model::load_tokenizers(options.init_from, model::load_config(options.init_from));
  }
  spdlog::info(
      "training a {} tokenizer of {} pieces{}", options.tokenizer.model_type,
      options.tokenizer.vocab_size,
      options.model_config.shared_vocabulary ? " for both languages" : " for each language");
  if (options.model_config.shared_vocabulary) {
    const text::Tokenizer shared = train_on(options, text::Side::kBoth);
    return {shared, shared};
  }
  return {train_on(options, text::Side::kSource), train_on(options, text::Side::kTarget)};
}

void set_vocabulary(model::ModelConfig& config, const model::Tokenizers& tokenizers) {
  config.source_vocabulary = tokenizers.source.size();
  config.target_vocabulary = tokenizers.target.size();
  config.source_eos = tokenizers.source.eos();
  config.target_bos = tokenizers.target.bos();
  config.target_eos = tokenizers.target.eos();
}

text::PairStore open_training_sets(const TrainOptions& options, const model::Tokenizers& tokenizers,
                                   text::CorpusReport& report) {
  text::CorpusOptions corpus;
  corpus.sources = corpus_sources(options.train_sets, options.tsv, options.corpus_weights);
  corpus.filters = options.filters;
  corpus.bad_lines = bad_lines(options);
  corpus.threads = options.threads;
  text::CorpusCache cache{options.data_cache};
  if (cache.folder.empty()) cache = {options.model / "cache", true};
  return text::open_corpus(corpus, tokenizers.source, tokenizers.target, cache, report);
}

std::unique_ptr<text::BatchStream> make_batch_stream(const TrainOptions& options,
                                                     const model::Tokenizers& tokenizers,
                                                     text::PairStore store, uint64_t seed) {
  std::vector<double> weights = options.corpus_weights;
  if (weights.empty()) weights.assign(store.corpora().size(), 1);
  text::SubwordSampling sampling;
  const std::vector<double>& alphas = options.sentencepiece_alphas;
  if (!alphas.empty()) {
    try {
      if (alphas.front() > 0) sampling.source.emplace(tokenizers.source, alphas.front());
      if (alphas.back() > 0) sampling.target.emplace(tokenizers.target, alphas.back());
    } catch (const UsageError& error) {
      throw UsageError("--sentencepiece-alphas: {}", error.what());
    }
  }
  return std::make_unique<text::BatchStream>(
      std::move(store), weights,
      text::BatchOptions{.batch_tokens = options.batch_tokens, .seed = seed}, std::move(sampling));
}

void require_files(const TrainOptions& options) {
  for (const auto* sets : {&options.train_sets, &options.valid_sets}) {
    for (const std::filesystem::path& file : *sets) {
      std::error_code ignored;
      if (file == "-" || (std::filesystem::exists(file, ignored) &&
                          !std::filesystem::is_regular_file(file, ignored))) {
        throw UsageError("{}: several workers read it, so it must be a file", file.string());
      }
    }
  }
}

void require_agreement(const TrainOptions& options, const text::PairStore& store,
                       int64_t valid_pairs, WorkerGroup& group) {
  Hasher hasher;
  hasher.update(model::to_json(options.model_config));
  for (const uint64_t number : {store.fingerprint(), static_cast<uint64_t>(valid_pairs),
                                std::bit_cast<uint64_t>(options.learning_rate),
                                std::bit_cast<uint64_t>(options.exponential_smoothing)}) {
    hasher.update(number);
  }
  for (const double weight : options.corpus_weights) {
    hasher.update(std::bit_cast<uint64_t>(weight));
  }
  for (const std::string& pattern : options.freeze) hasher.update(pattern);
  hasher.update(options.precision);
  for (const int64_t number :
       {options.batch_tokens, options.accumulate, options.max_steps, options.max_epochs,
        options.patience, options.valid_every, options.save_every,
        int64_t{options.translate_valid_set}, int64_t{options.dry_run}}) {
    hasher.update(static_cast<uint64_t>(number));
  }
  const std::vector<uint64_t> digests = group.gather(hasher.digest());
  for (size_t rank = 1; rank < digests.size(); ++rank) {
    if (digests[rank] == digests[0]) continue;
    throw Error("worker {} was given other text or options than worker 0; they must be the same",
                rank);
  }
}

std::optional<ValidationSet> read_validation_set(const TrainOptions& options,
                                                 const model::Tokenizers& tokenizers) {
  if (options.valid_sets.empty()) return std::nullopt;
  ValidationSet set;
  const text::CorpusSource source = corpus_sources(options.valid_sets, options.tsv, {}).front();
  for (const text::SentencePair& pair : text::read_pairs(source)) {
    std::vector<int> from = tokenizers.source.encode(pair.source);
    const std::vector<int> to = tokenizers.target.encode(pair.target);
    if (from.empty() || to.empty()) continue;
    set.corpus.add(from, to);
    set.source_ids.push_back(std::move(from));
    set.references.push_back(pair.target);
  }
  if (set.references.empty()) throw Error("{}: no pair to validate on", source.name());
  return set;
}

}  // namespace filigree::train
