#include "filigree/train/data_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <unordered_set>

#include "filigree/base/hash.h"

namespace filigree::train {
namespace {

constexpr double kManyUnknown = 0.01, kManyIdentical = 0.5;
// So much more alike, in cosine, the swapped sides must be than the sides as given.
constexpr double kClearlyMoreAlike = 0.05;

// How often each piece occurs on one side.
class PieceCounts {
 public:
  PieceCounts(const text::Tokenizer& tokenizer)
      : counts_(static_cast<size_t>(tokenizer.size())), unknown_(tokenizer.unk()) {}

  void add(std::span<const int32_t> ids) {
    for (const int32_t id : ids) ++counts_[static_cast<size_t>(id)];
    total_ += static_cast<int64_t>(ids.size());
  }
  double unknown_share() const {
    if (total_ == 0) return 0;
    return static_cast<double>(counts_[static_cast<size_t>(unknown_)]) /
           static_cast<double>(total_);
  }
  double cosine(const PieceCounts& other) const {
    double product = 0, square = 0, other_square = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      const auto a = static_cast<double>(counts_[i]), b = static_cast<double>(other.counts_[i]);
      product += a * b;
      square += a * a;
      other_square += b * b;
    }
    return product / std::max(1.0, std::sqrt(square * other_square));
  }

 private:
  std::vector<int64_t> counts_;
  int64_t total_ = 0;
  int unknown_;
};

uint64_t hash_pair(std::span<const int32_t> source, std::span<const int32_t> target) {
  return hash_bytes(target.data(), target.size_bytes(),
                    hash_bytes(source.data(), source.size_bytes()));
}

}  // namespace

DataChecks check_data(const text::PairStore& store, const model::Tokenizers& tokenizers,
                      bool shared_vocabulary, const ValidationSet* validation, int64_t most_pairs) {
  DataChecks checks;
  checks.pairs = std::min(store.size(), most_pairs);
  PieceCounts sources(tokenizers.source), targets(tokenizers.target);
  std::unordered_set<uint64_t> known;
  std::vector<int32_t> source, target;
  int64_t identical = 0;
  for (int64_t i = 0; i < checks.pairs; ++i) {
    // In this order the product cannot overflow for any store that fits on a disk.
    store.read(store.size() * i / checks.pairs, source, target);
    sources.add(source);
    targets.add(target);
    identical += shared_vocabulary && source == target;
    if (validation) known.insert(hash_pair(source, target));
  }
  checks.unknown_source = sources.unknown_share();
  checks.unknown_target = targets.unknown_share();
  checks.identical =
      static_cast<double>(identical) / static_cast<double>(std::max<int64_t>(1, checks.pairs));
  if (!validation) return checks;

  const text::ParallelCorpus& pairs = validation->corpus;
  checks.validation_pairs = pairs.size();
  PieceCounts valid_sources(tokenizers.source), valid_targets(tokenizers.target);
  for (int64_t i = 0; i < pairs.size(); ++i) {
    valid_sources.add(pairs.source(i));
    valid_targets.add(pairs.target(i));
    checks.known_pairs += known.count(hash_pair(pairs.source(i), pairs.target(i)));
  }
  checks.validation_swapped =
      shared_vocabulary &&
      valid_sources.cosine(targets) + valid_targets.cosine(sources) >
          valid_sources.cosine(sources) + valid_targets.cosine(targets) + 2 * kClearlyMoreAlike;
  return checks;
}

std::vector<std::string> warnings(const DataChecks& c) {
  std::vector<std::string> lines;
  const auto unknown = [&](const char* side, double share) {
    if (share <= kManyUnknown) return;
    lines.push_back(fmt::format(
        "{:.1f} % of the pieces of the training {} are unknown to the vocabulary; was it "
        "made for this language? (--byte-fallback leaves none unknown)",
        100 * share, side));
  };
  unknown("sources", c.unknown_source);
  unknown("targets", c.unknown_target);
  if (c.identical > kManyIdentical) {
    lines.push_back(
        fmt::format("source and target are the same in {:.0f} % of the training pairs; was one "
                    "file given twice?",
                    100 * c.identical));
  }
  if (c.validation_swapped) {
    lines.emplace_back(
        "--valid-sets: source and target seem to be swapped: each side resembles the other side of "
        "--train-sets");
  }
  if (c.known_pairs > 0) {
    lines.push_back(
        fmt::format("--valid-sets: {} of {} pairs are in --train-sets as well; scores on them say "
                    "little about new text",
                    c.known_pairs, c.validation_pairs));
  }
  return lines;
}

}  // namespace filigree::train
