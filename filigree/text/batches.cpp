#include "filigree/text/batches.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "filigree/base/error.h"
#include "filigree/base/random.h"

namespace filigree::text {
namespace {

// Numbers lengths by their leading four bits: lengths below 16 have a number each, above that those
// within 12.5 % of each other share one. Below 256 for every 31-bit length.
uint32_t bucket(int32_t length) {
  const auto n = static_cast<uint32_t>(length);
  const int dropped = std::max<int>(0, std::bit_width(n) - 4);
  return 8 * static_cast<uint32_t>(dropped) + (n >> dropped);
}

constexpr size_t kBuckets = 256;

// Every pair of the epoch as often as its weight says.
std::vector<int32_t> draw_pairs(std::span<const CorpusPart> parts, uint64_t key) {
  std::vector<int32_t> pairs;
  double expected = 0;
  for (const CorpusPart& part : parts)
    expected += part.weight * static_cast<double>(part.end - part.begin);
  pairs.reserve(static_cast<size_t>(expected * 1.01));
  for (const CorpusPart& part : parts) {
    const double whole = std::floor(part.weight), rest = part.weight - whole;
    for (int64_t i = part.begin; i < part.end; ++i) {
      // Keyed by the pair, so that one corpus's weight does not change what another's draws.
      const bool once_more = rest > 0 && Random(combine(key, i)).uniform() < rest;
      pairs.insert(pairs.end(), static_cast<size_t>(whole) + once_more, static_cast<int32_t>(i));
    }
  }
  return pairs;
}

// By the bucket of the target, then of the source; equal ones keep their order (a counting sort).
std::vector<int32_t> sort_by_length(const std::vector<int32_t>& pairs,
                                    std::span<const PairLength> lengths) {
  const auto group = [&](int32_t pair) {
    const PairLength length = lengths[static_cast<size_t>(pair)];
    return bucket(length.target) * kBuckets + bucket(length.source);
  };
  std::vector<size_t> places(kBuckets * kBuckets + 1, 0);
  for (const int32_t pair : pairs) ++places[group(pair) + 1];
  std::partial_sum(places.begin(), places.end(), places.begin());
  std::vector<int32_t> sorted(pairs.size());
  for (const int32_t pair : pairs) sorted[places[group(pair)]++] = pair;
  return sorted;
}

}  // namespace

Batches make_batches(std::span<const PairLength> lengths, std::span<const CorpusPart> parts,
                     const BatchOptions& options, int64_t epoch) {
  if (options.batch_tokens < 1) {
    throw UsageError("a batch must hold at least 1 token, got {}", options.batch_tokens);
  }
  if (lengths.size() > std::numeric_limits<int32_t>::max()) {
    throw Error("the corpus has {} pairs; at most {} are possible", lengths.size(),
                std::numeric_limits<int32_t>::max());
  }
  const uint64_t key = combine(options.seed, static_cast<uint64_t>(epoch));
  Random random(key);
  std::vector<int32_t> pairs = draw_pairs(parts, key);
  random.shuffle(pairs);

  Batches batches;
  batches.pairs_ = sort_by_length(pairs, lengths);
  const int64_t source_limit = 4 * options.batch_tokens;
  int64_t source_tokens = 0, target_tokens = 0;
  for (size_t i = 0; i < batches.pairs_.size(); ++i) {
    const PairLength length = lengths[static_cast<size_t>(batches.pairs_[i])];
    source_tokens += length.source + 1;
    target_tokens += length.target + 1;
    if (i == 0 || target_tokens > options.batch_tokens || source_tokens > source_limit) {
      batches.begins_.push_back(i);
      source_tokens = length.source + 1;
      target_tokens = length.target + 1;
    }
  }
  batches.order_.resize(batches.begins_.size());
  std::iota(batches.order_.begin(), batches.order_.end(), 0);
  random.shuffle(batches.order_);
  batches.begins_.push_back(batches.pairs_.size());
  return batches;
}

Batches make_batches(const ParallelCorpus& corpus, const BatchOptions& options, int64_t epoch) {
  const CorpusPart all{.begin = 0, .end = corpus.size()};
  return make_batches(corpus.lengths(), {&all, 1}, options, epoch);
}

}  // namespace filigree::text
