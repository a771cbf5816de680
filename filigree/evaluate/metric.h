// What BLEU and chrF have in common: a corpus score is a function of counts summed over segments.
// Whoever keeps the counts of each segment can score any selection of segments at the price of a
// sum, which is what makes resampling cheap.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace filigree::evaluate {

/// Segments in order, UTF-8.
using Segments = std::vector<std::string>;

/// References, one set after the other: references[r][i] is the r-th reference of segment i.
using References = std::vector<Segments>;

/// The fields of a signature in order: key and value.
using Fields = std::vector<std::pair<std::string, std::string>>;

/// The counts of each segment: a row-major matrix, one row per segment.
struct SegmentCounts {
  size_t width = 0;
  std::vector<int64_t> values;

  size_t segments() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const int64_t> row(size_t segment) const {
    return {values.data() + segment * width, width};
  }
  /// Over all segments.
  std::vector<int64_t> sum() const;
};

class Metric {
 public:
  virtual ~Metric() = default;

  /// As it is printed: "BLEU", "chrF2", "chrF2++".
  virtual std::string name() const = 0;
  /// The counts of one segment against its references, of which there is at least one.
  virtual std::vector<int64_t> count(std::string_view hypothesis,
                                     std::span<const std::string_view> references) const = 0;
  /// The score in percent from summed counts.
  virtual double score(std::span<const int64_t> counts) const = 0;
  /// What else there is to say about summed counts; may be empty.
  virtual std::string details(std::span<const int64_t> counts) const;
  /// Everything that changes the score, as the fields of the signature.
  virtual Fields settings() const = 0;
};

/// Throws Error naming the counts when there is nothing to score, no reference set, or a reference
/// set whose size differs from the number of hypotheses.
void check_sizes(const Segments& hypotheses, const References& references);

/// Counts every segment, see check_sizes for the errors; what the metric throws gets the number of
/// the segment, from 1, in front.
SegmentCounts count_segments(const Metric& metric, const Segments& hypotheses,
                             const References& references);

/// Counts of one segment against all its references.
std::vector<int64_t> count_segment(const Metric& metric, std::string_view hypothesis,
                                   const Segments& references);

/// How often and from which random numbers segments are resampled.
struct Resampling {
  int samples = 1000;
  uint64_t seed = 12345;
};

/// All fields of a signature: nrefs, bs and seed where the score was resampled, the metric's
/// settings, impl, version.
Fields signature_fields(const Metric& metric, size_t reference_sets,
                        const std::optional<Resampling>& resampling = std::nullopt);

/// The fields as "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|impl:filigree|version:0.1.0": in
/// sacreBLEU's form, but naming the implementation that computed the score.
std::string signature_text(const Fields& fields);

/// signature_text of signature_fields.
std::string signature(const Metric& metric, size_t reference_sets,
                      const std::optional<Resampling>& resampling = std::nullopt);

}  // namespace filigree::evaluate
