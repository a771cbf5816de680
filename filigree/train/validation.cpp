#include "filigree/train/validation.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "filigree/base/error.h"
#include "filigree/base/signals.h"
#include "filigree/base/threads.h"
#include "filigree/evaluate/bleu.h"
#include "filigree/evaluate/chrf.h"
#include "filigree/text/batches.h"
#include "filigree/train/pair_loss.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::train {
namespace {

// Whether a signal has come to any worker, which then has left its work unfinished.
bool interrupted(WorkerGroup& group) {
  const std::vector<int> signals = group.gather(SignalGuard::received());
  return std::any_of(signals.begin(), signals.end(), [](int signal) { return signal != 0; });
}

// Nothing when it was interrupted, as below.
std::optional<model::LossSums> gold_loss(const model::Transformer& model,
                                         const text::ParallelCorpus& corpus, int64_t batch_tokens,
                                         int threads, WorkerGroup& group,
                                         model::AttentionCounts& counts) {
  const auto batches = text::make_batches(corpus, {.batch_tokens = batch_tokens}, 0);
  std::vector<model::LossSums> sums(static_cast<size_t>(threads));
  std::vector<model::AttentionCounts> parts(sums.size(), model::AttentionCounts(model.config()));
  // Batches in turn to the workers, and those of a worker in turn to its threads.
  run_parallel(threads, [&](int thread) {
    const torch::NoGradGuard no_grad;
    const auto t = static_cast<size_t>(thread);
    for (int64_t b = group.rank() + thread * group.size();
         b < batches.size() && SignalGuard::received() == 0; b += threads * group.size()) {
      model::ForwardOptions options;
      options.counts = &parts[t];
      pair_loss(model, pack_pairs(corpus, batches[b], model.config()), options, {}, sums[t]);
    }
  });
  if (interrupted(group)) return std::nullopt;
  for (const auto& part : parts) counts.add(part);
  for (auto& nonzero : counts.nonzero) group.sum(nonzero);
  group.sum(counts.pairs);
  return total(group.gather(total(sums)));
}

// Every size-th sentence is this worker's, so that lengths are alike everywhere. Only the first
// worker gets all translations.
std::optional<evaluate::Segments> translations(const model::Transformer& model,
                                               const ValidationSet& set,
                                               const text::Tokenizer& tokenizer,
                                               const TrainOptions& options, int threads,
                                               WorkerGroup& group) {
  translate::SearchOptions search;
  search.beam_size = options.beam_size;
  search.length_penalty = options.length_penalty;
  translate::suppress_special_tokens(search, tokenizer);
  const auto workers = static_cast<size_t>(group.size());
  std::vector<std::span<const int>> sources;
  for (size_t i = static_cast<size_t>(group.rank()); i < set.source_ids.size(); i += workers) {
    sources.push_back(set.source_ids[i]);
  }
  const auto leave_if_interrupted = [] {
    if (const int signal = SignalGuard::received()) throw Interrupted(signal);
  };
  evaluate::Segments mine;
  try {
    for (const auto& hypotheses : translate::translate_ids(
             model, sources, search, {.threads = threads, .before_step = leave_if_interrupted})) {
      mine.push_back(tokenizer.decode(hypotheses.front().tokens));
    }
  } catch (const Interrupted&) {  // The others must hear of it.
  }
  if (interrupted(group)) return std::nullopt;
  if (workers == 1) return mine;
  std::string text;
  for (const std::string& segment : mine) text += fmt::format("{}:{}", segment.size(), segment);
  const std::vector<std::string> texts = group.gather_text(text);
  evaluate::Segments segments(set.source_ids.size());
  for (size_t rank = 0; rank < workers; ++rank) {
    std::istringstream stream(texts[rank]);
    for (size_t i = rank; i < segments.size(); i += workers) {
      size_t size = 0;
      stream >> size;
      stream.ignore();
      segments[i].resize(size);
      stream.read(segments[i].data(), static_cast<std::streamsize>(size));
    }
  }
  return segments;
}

}  // namespace

std::optional<Validation> run_validation(const model::Transformer& model, const ValidationSet& set,
                                         const text::Tokenizer& tokenizer,
                                         const TrainOptions& options, int threads,
                                         WorkerGroup& group) {
  Validation validation{{}, model::AttentionCounts(model.config())};
  const std::optional<model::LossSums> sums =
      gold_loss(model, set.corpus, options.batch_tokens, threads, group, validation.attention);
  if (!sums) return std::nullopt;
  const auto tokens = static_cast<double>(sums->tokens);
  ValidationReport& report = validation.report;
  report.loss = sums->loss / tokens;
  report.perplexity = std::exp(-sums->log_likelihood / tokens);
  if (options.translate_valid_set) {
    const std::optional<evaluate::Segments> output =
        translations(model, set, tokenizer, options, threads, group);
    if (!output) return std::nullopt;
    if (group.is_first()) {
      report.bleu = evaluate::corpus_bleu(*output, {set.references}).score;
      report.chrf = evaluate::corpus_chrf(*output, {set.references}).score;
    }
  }
  group.broadcast(report);
  return validation;
}

double stopping_score(const ValidationReport& report, StoppingMetric metric) {
  if (metric == StoppingMetric::kBleu && report.bleu) return *report.bleu;
  if (metric == StoppingMetric::kChrf && report.chrf) return *report.chrf;
  return -report.loss;
}

}  // namespace filigree::train
