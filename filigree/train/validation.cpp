#include "filigree/train/validation.h"

#include <torch/torch.h>

#include <cmath>

#include "filigree/base/threads.h"
#include "filigree/evaluate/bleu.h"
#include "filigree/evaluate/chrf.h"
#include "filigree/text/batches.h"
#include "filigree/train/pair_loss.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::train {
namespace {

model::LossSums gold_loss(const model::Transformer& model, const text::ParallelCorpus& corpus,
                          int64_t batch_tokens, int threads, model::AttentionCounts& counts) {
  const auto batches = text::make_batches(corpus, {.batch_tokens = batch_tokens}, 0);
  std::vector<model::LossSums> sums(static_cast<size_t>(threads));
  std::vector<model::AttentionCounts> parts(sums.size(), model::AttentionCounts(model.config()));
  run_parallel(threads, [&](int thread) {
    const torch::NoGradGuard no_grad;
    const auto t = static_cast<size_t>(thread);
    for (int64_t b = thread; b < batches.size(); b += threads) {
      model::ForwardOptions options;
      options.counts = &parts[t];
      pair_loss(model, pack_pairs(corpus, batches[b], model.config()), options, {}, sums[t]);
    }
  });
  for (const auto& part : parts) counts.add(part);
  return total(sums);
}

evaluate::Segments translations(const model::Transformer& model, const ValidationSet& set,
                                const text::Tokenizer& tokenizer, const TrainOptions& options,
                                int threads) {
  translate::SearchOptions search;
  search.beam_size = options.beam_size;
  search.length_penalty = options.length_penalty;
  translate::suppress_special_tokens(search, tokenizer);
  const std::vector<std::span<const int>> sources(set.source_ids.begin(), set.source_ids.end());
  evaluate::Segments segments;
  for (const auto& hypotheses :
       translate::translate_ids(model, sources, search, {.threads = threads})) {
    segments.push_back(tokenizer.decode(hypotheses.front().tokens));
  }
  return segments;
}

}  // namespace

Validation run_validation(const model::Transformer& model, const ValidationSet& set,
                          const text::Tokenizer& tokenizer, const TrainOptions& options,
                          int threads) {
  Validation validation{{}, model::AttentionCounts(model.config())};
  const model::LossSums sums =
      gold_loss(model, set.corpus, options.batch_tokens, threads, validation.attention);
  ValidationReport& report = validation.report;
  report.loss = sums.loss / static_cast<double>(sums.tokens);
  report.perplexity = std::exp(-sums.log_likelihood / static_cast<double>(sums.tokens));
  if (options.translate_valid_set) {
    const evaluate::Segments output = translations(model, set, tokenizer, options, threads);
    report.bleu = evaluate::corpus_bleu(output, {set.references}).score;
    report.chrf = evaluate::corpus_chrf(output, {set.references}).score;
  }
  return validation;
}

double stopping_score(const ValidationReport& report, StoppingMetric metric) {
  if (metric == StoppingMetric::kBleu && report.bleu) return *report.bleu;
  if (metric == StoppingMetric::kChrf && report.chrf) return *report.chrf;
  return -report.loss;
}

}  // namespace filigree::train
