// The measures of one head: means over queries, words or pairs that add up over sentences.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "filigree/inspect/sparse_attention.h"
#include "filigree/inspect/tokens.h"

namespace filigree::inspect {

/// A mean that adds up: of the values themselves, not of means.
struct Mean {
  double sum = 0;
  int64_t count = 0;

  void add(double value) {
    sum += value;
    ++count;
  }
  void operator+=(const Mean& other) {
    sum += other.sum;
    count += other.count;
  }
  /// Nothing when nothing was counted.
  std::optional<double> value() const {
    return count == 0 ? std::nullopt : std::optional(sum / static_cast<double>(count));
  }
};

enum class Measure {
  kDensity,
  kEntropy,
  kRelativeEntropy,
  kTwoBefore,
  kPrevious,
  kSame,
  kNext,
  kTwoAfter,
  kOwnWord,
  kWordPieces,
  kMark,
  kPunctuation,
  kRare,
  kQuestion,
  kCoverage,
};
inline constexpr size_t kMeasureCount = 15;

struct MeasureDescription {
  Measure measure;
  const char* name;        ///< the key in JSON
  const char* definition;  ///< exact, for readers of a report
};
/// In the order of the enumeration.
const std::array<MeasureDescription, kMeasureCount>& measure_descriptions();

/// Bars of the histogram of densities, as in the paper: of width 1/15.
inline constexpr size_t kDensityBins = 15;
/// Support sizes 1 … 32, and in the last place all above.
inline constexpr size_t kSupportBins = 33;

struct HeadStatistics {
  std::array<Mean, kMeasureCount> means;
  std::array<int64_t, kSupportBins> support{};    ///< queries by the number of weights above zero
  std::array<int64_t, kDensityBins> densities{};  ///< sentences by this head's density in them

  Mean& operator[](Measure measure) { return means[static_cast<size_t>(measure)]; }
  const Mean& operator[](Measure measure) const { return means[static_cast<size_t>(measure)]; }
  void operator+=(const HeadStatistics& other);
};

/// The measures of one head in one sentence. queries and keys are the tokens of the two sides: the
/// same for self-attention.
HeadStatistics measure_head(AttentionBlock block, const SparseAttention& attention,
                            const Tokens& queries, const Tokens& keys);

/// Which words of a source have a weight above zero from any query.
std::vector<bool> covered_words(const SparseAttention& attention, const Tokens& source);

/// −Σ p log p, in nats.
double entropy(std::span<const SparseAttention::Entry> row);

}  // namespace filigree::inspect
