#include "filigree/text/pair_filter.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "filigree/base/error.h"
#include "filigree/base/hash.h"

namespace filigree::text {
namespace {

std::optional<Script> script_of(const std::string& name) {
  if (name.empty() || name == "any") return std::nullopt;
  return Script(name);
}

}  // namespace

void validate(const FilterOptions& options) { PairFilter{options}; }

PairFilter::PairFilter(const FilterOptions& options) : options_(options) {
  if (options.max_length < 1) {
    throw UsageError("the maximum length must be at least 1, got {}", options.max_length);
  }
  const double ratio = options.max_length_ratio, share = options.min_script_share;
  if (!std::isfinite(ratio) || (ratio != 0 && ratio < 1)) {
    throw UsageError("the maximum length ratio must be at least 1, or 0 for any, got {}", ratio);
  }
  if (!(share >= 0 && share <= 1)) {
    throw UsageError("the share of letters in a script must be between 0 and 1, got {}", share);
  }
  source_script_ = script_of(options.source_script);
  target_script_ = script_of(options.target_script);
}

int64_t SourceReport::*PairFilter::judge(const SentencePair& pair, size_t source_pieces,
                                         size_t target_pieces) const {
  if (source_pieces == 0) return &SourceReport::empty_source;
  if (target_pieces == 0) return &SourceReport::empty_target;
  const auto [shorter, longer] = std::minmax(source_pieces, target_pieces);
  if (longer > static_cast<size_t>(options_.max_length)) return &SourceReport::too_long;
  if (options_.max_length_ratio > 0 &&
      static_cast<double>(longer) > options_.max_length_ratio * static_cast<double>(shorter)) {
    return &SourceReport::length_ratio;
  }
  if (options_.drop_identical && pair.source == pair.target) return &SourceReport::identical;
  const auto foreign = [&](const std::optional<Script>& script, const std::string& text) {
    return script && script->share_in(text) < options_.min_script_share;
  };
  if (foreign(source_script_, pair.source) || foreign(target_script_, pair.target)) {
    return &SourceReport::wrong_script;
  }
  return &SourceReport::kept;
}

bool HashSet::insert(uint64_t hash) {
  if (4 * (static_cast<size_t>(size_) + 1) > 3 * slots_.size()) grow();
  if (hash == 0) hash = 1;
  for (size_t i = hash & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
    if (slots_[i] == hash) return false;
    if (slots_[i] != 0) continue;
    slots_[i] = hash;
    ++size_;
    return true;
  }
}

void HashSet::grow() {
  const std::vector<uint64_t> old =
      std::exchange(slots_, std::vector<uint64_t>(std::max<size_t>(1024, 2 * slots_.size())));
  size_ = 0;
  for (const uint64_t hash : old) {
    if (hash != 0) insert(hash);
  }
}

uint64_t hash_of(const SentencePair& pair) {
  Hasher hasher;
  hasher.update(pair.source.size());
  hasher.update(pair.source);
  hasher.update(pair.target);
  return hasher.digest();
}

}  // namespace filigree::text
