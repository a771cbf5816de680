#include "filigree/train/corpora.h"

#include <limits>

#include "filigree/base/error.h"
#include "filigree/base/log.h"

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

text::ParallelCorpus read_training_sets(const TrainOptions& options,
                                        const model::Tokenizers& tokenizers,
                                        text::CorpusReport& report) {
  text::CorpusOptions corpus;
  corpus.sources = corpus_sources(options.train_sets, options.tsv, options.corpus_weights);
  corpus.max_length = options.max_length;
  corpus.bad_lines = bad_lines(options);
  corpus.threads = options.threads;
  return text::read_corpus(corpus, tokenizers.source, tokenizers.target, report);
}

std::optional<ValidationSet> read_validation_set(const TrainOptions& options,
                                                 const model::Tokenizers& tokenizers) {
  if (options.valid_sets.empty()) return std::nullopt;
  ValidationSet set;
  set.corpus.begin_part(1);
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
