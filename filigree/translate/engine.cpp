#include "filigree/translate/engine.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/threads.h"
#include "filigree/translate/ensemble.h"

namespace filigree::translate {
namespace {

/// A thread's sentences in work.
class Shift {
 public:
  Shift(StepFunction& step, const SearchOptions& search, const BatchOptions& batches)
      : step_(step), search_(step, search), batches_(batches) {}

  /// Takes from the queue what there is room for, and waits for it when nothing is in work. Returns
  /// false when nothing will come.
  bool take(SentenceQueue& queue) {
    // The encoder is quicker with several sentences, so one place alone is not filled at once.
    const auto room = batches_.mini_batch - static_cast<int>(jobs_.size());
    if (!jobs_.empty() && room < batches_.mini_batch / 8) return true;
    while (static_cast<int>(jobs_.size()) < batches_.mini_batch) {
      const int64_t pieces =
          jobs_.empty() ? std::numeric_limits<int64_t>::max() : batches_.mini_batch_words - pieces_;
      std::optional<SentenceJob> job = queue.take(pieces, jobs_.empty());
      if (!job) break;
      if (job->sentence.ids.empty()) {
        std::vector<Hypothesis> empty(1);
        empty[0].has_required = job->sentence.constraints.required.empty();
        job->done(std::move(empty));
      } else {
        begin(std::move(*job));
      }
    }
    return !jobs_.empty();
  }

  void step() {
    for (auto& [number, n_best] : search_.step()) {
      const auto found = jobs_.find(number);
      const SentenceJob job = std::move(found->second);
      jobs_.erase(found);
      pieces_ -= static_cast<int64_t>(job.sentence.ids.size());
      job.done(std::move(n_best));
    }
  }

 private:
  void begin(SentenceJob job) {
    step_.add(next_, job.sentence.ids);
    search_.add(next_, {static_cast<int>(job.sentence.ids.size()), job.sentence.constraints,
                        job.sentence.key});
    pieces_ += static_cast<int64_t>(job.sentence.ids.size());
    jobs_.emplace(next_++, std::move(job));
  }

  StepFunction& step_;
  BeamSearch search_;
  const BatchOptions& batches_;
  std::map<int, SentenceJob> jobs_;
  int64_t pieces_ = 0;  ///< of the sources in work
  int next_ = 0;        ///< number of the next sentence
};

}  // namespace

void BatchOptions::check() const {
  if (threads < 1) throw UsageError("threads {} is too small", threads);
  if (mini_batch < 1) throw UsageError("mini-batch {} is too small", mini_batch);
  if (mini_batch_words < 1) throw UsageError("mini-batch-words {} is too small", mini_batch_words);
}

bool needs_attention(const SearchOptions& search) {
  return search.coverage_penalty > 0 || !search.attention_heads.empty();
}

Engine::Engine(const std::vector<const model::Transformer*>& models, Precision precision,
               DecoderOptions options)
    : options_(options) {
  for (const auto* model : models) {
    models_.push_back(std::make_unique<const PackedModel>(*model, precision));
  }
}

std::unique_ptr<StepFunction> Engine::take_decoder() const {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<StepFunction> decoder = std::move(idle_.back());
      idle_.pop_back();
      return decoder;
    }
  }
  std::vector<std::unique_ptr<StepFunction>> members;
  for (const auto& model : models_) members.push_back(std::make_unique<Decoder>(*model, options_));
  if (members.size() == 1) return std::move(members.front());
  return std::make_unique<Ensemble>(std::move(members));
}

void Engine::serve(SentenceQueue& queue, const SearchOptions& search,
                   const BatchOptions& batches) const {
  std::unique_ptr<StepFunction> decoder = take_decoder();
  try {
    Shift shift(*decoder, search, batches);
    while (shift.take(queue)) {
      if (batches.before_step) batches.before_step();
      shift.step();
    }
  } catch (...) {
    queue.stop();  // and leave the decoder, which holds sentences, to its end
    throw;
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(decoder));
}

void Engine::run(std::vector<SentenceJob> jobs, const SearchOptions& search,
                 const BatchOptions& batches) const {
  std::stable_sort(jobs.begin(), jobs.end(), [](const SentenceJob& a, const SentenceJob& b) {
    return a.sentence.ids.size() > b.sentence.ids.size();
  });
  const size_t count = jobs.size();
  SentenceQueue queue;
  for (SentenceJob& job : jobs) queue.push(std::move(job));
  queue.close();
  const auto threads = std::min(count, static_cast<size_t>(batches.threads));
  run_parallel(static_cast<int>(threads), [&](int) { serve(queue, search, batches); });
}

}  // namespace filigree::translate
