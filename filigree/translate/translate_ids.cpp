#include "filigree/translate/translate_ids.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/threads.h"
#include "filigree/translate/decoder.h"

namespace filigree::translate {
namespace {

using Sources = std::vector<std::span<const int>>;

/// Sentences of similar length together, the longest first, so that threads finish together; those
/// without pieces are left out.
std::vector<std::vector<size_t>> make_batches(const Sources& sources, const BatchOptions& options) {
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return sources[i].empty(); });
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources[a].size() > sources[b].size(); });
  std::vector<std::vector<size_t>> batches;
  size_t words = 0;
  for (const size_t i : order) {
    if (batches.empty() || batches.back().size() == static_cast<size_t>(options.mini_batch) ||
        words + sources[i].size() > static_cast<size_t>(options.mini_batch_words)) {
      batches.emplace_back();
      words = 0;
    }
    batches.back().push_back(i);
    words += sources[i].size();
  }
  return batches;
}

std::vector<std::vector<Hypothesis>> translate_batch(const PackedModel& model,
                                                     const Sources& sources,
                                                     const SearchOptions& search) {
  Decoder decoder(model);
  std::vector<int> lengths;
  for (const auto& source : sources) {
    decoder.add(static_cast<int>(lengths.size()), source);
    lengths.push_back(static_cast<int>(source.size()));
  }
  return beam_search(decoder, lengths, search);
}

}  // namespace

void BatchOptions::check() const {
  if (threads < 1) throw UsageError("threads {} is too small", threads);
  if (mini_batch < 1) throw UsageError("mini-batch {} is too small", mini_batch);
  if (mini_batch_words < 1) throw UsageError("mini-batch-words {} is too small", mini_batch_words);
}

void suppress_special_tokens(SearchOptions& options, const text::Tokenizer& target) {
  options.suppressed.push_back(target.pad());
  if (!options.allow_unk) options.suppressed.push_back(target.unk());
}

std::vector<std::vector<Hypothesis>> translate_ids(const model::Transformer& model,
                                                   const Sources& sources,
                                                   const SearchOptions& search,
                                                   const BatchOptions& options) {
  search.check();
  options.check();
  const PackedModel packed(model);
  const std::vector<std::vector<size_t>> batches = make_batches(sources, options);
  std::vector<std::vector<Hypothesis>> results(sources.size(), std::vector<Hypothesis>(1));
  std::atomic<size_t> next = 0;
  const int threads =
      static_cast<int>(std::clamp<size_t>(batches.size(), 1, static_cast<size_t>(options.threads)));
  run_parallel(threads, [&](int) {
    for (size_t b = next++; b < batches.size(); b = next++) {
      Sources batch;
      for (const size_t i : batches[b]) batch.push_back(sources[i]);
      try {
        auto translated = translate_batch(packed, batch, search);
        for (size_t k = 0; k < batch.size(); ++k) results[batches[b][k]] = std::move(translated[k]);
      } catch (...) {
        next = batches.size();  // Nobody needs to begin another batch.
        throw;
      }
    }
  });
  return results;
}

}  // namespace filigree::translate
