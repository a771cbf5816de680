#include "filigree/text/batches.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "filigree/base/error.h"
#include "filigree/base/random.h"

namespace filigree::text {
namespace {

// A length with its leading four bits only: lengths below 16 stay as they are, above that those
// within 12.5 % of each other are the same.
uint64_t bucket(int64_t length) {
  const uint64_t n = static_cast<uint64_t>(length);
  const int dropped = std::max<int>(0, std::bit_width(n) - 4);
  return n >> dropped << dropped;
}

// Every pair of the epoch as often as its weight says.
std::vector<int32_t> draw_pairs(const ParallelCorpus& corpus, uint64_t key) {
  std::vector<int32_t> pairs;
  pairs.reserve(static_cast<size_t>(corpus.size()));
  for (const ParallelCorpus::Part& part : corpus.parts()) {
    const double whole = std::floor(part.weight), rest = part.weight - whole;
    for (int64_t i = part.begin; i < part.end; ++i) {
      // Keyed by the pair, so that one source's weight does not change what another's draws.
      const bool once_more = rest > 0 && Random(combine(key, i)).uniform() < rest;
      pairs.insert(pairs.end(), static_cast<size_t>(whole) + once_more, static_cast<int32_t>(i));
    }
  }
  return pairs;
}

}  // namespace

std::vector<std::vector<int32_t>> make_batches(const ParallelCorpus& corpus,
                                               const BatchOptions& options, int64_t epoch) {
  if (options.batch_tokens < 1) {
    throw UsageError("a batch must hold at least 1 token, got {}", options.batch_tokens);
  }
  if (corpus.size() > std::numeric_limits<int32_t>::max()) {
    throw Error("the corpus has {} pairs; at most {} are possible", corpus.size(),
                std::numeric_limits<int32_t>::max());
  }
  const uint64_t key = combine(options.seed, static_cast<uint64_t>(epoch));
  std::vector<int32_t> pairs = draw_pairs(corpus, key);
  Random random(key);
  random.shuffle(pairs);
  std::stable_sort(pairs.begin(), pairs.end(), [&](int32_t a, int32_t b) {
    const uint64_t target_a = bucket(corpus.target_length(a)),
                   target_b = bucket(corpus.target_length(b));
    if (target_a != target_b) return target_a < target_b;
    return bucket(corpus.source_length(a)) < bucket(corpus.source_length(b));
  });

  std::vector<std::vector<int32_t>> batches;
  const int64_t source_limit = 4 * options.batch_tokens;
  int64_t source_tokens = 0, target_tokens = 0;
  for (const int32_t pair : pairs) {
    const int64_t source = corpus.source_length(pair) + 1, target = corpus.target_length(pair) + 1;
    source_tokens += source;
    target_tokens += target;
    if (batches.empty() || target_tokens > options.batch_tokens || source_tokens > source_limit) {
      batches.emplace_back();
      source_tokens = source;
      target_tokens = target;
    }
    batches.back().push_back(pair);
  }
  random.shuffle(batches);
  return batches;
}

}  // namespace filigree::text
