// How far a score can be trusted: bootstrap resampling of test segments (Koehn, 2004). A test set
// is drawn again and again from its own segments, with replacement, and the score computed each
// time.
//
// The resamples come from filigree/base/random.h: a seed gives the same numbers on every machine,
// but not those that numpy (and so sacreBLEU) draws from it.
#pragma once

#include "filigree/evaluate/metric.h"

namespace filigree::evaluate {

/// A 95 % confidence interval: between the 2.5 % of resampled scores at either end.
struct ConfidenceInterval {
  double mean = 0;  ///< of the resampled scores
  double lower = 0, upper = 0;

  /// What is printed after ±.
  double half_width() const { return (upper - lower) / 2; }
};

/// The score of every resample. The same resampling of the same number of segments draws the same
/// segments, whatever the metric or the system: so the scores of two systems are paired.
/// Throws UsageError when samples < 1, Error when there is no segment.
std::vector<double> bootstrap_scores(const Metric& metric, const SegmentCounts& counts,
                                     const Resampling& resampling = {});

/// From one score per resample, of which there is at least one.
ConfidenceInterval confidence_interval(std::vector<double> scores);

/// bootstrap_scores and confidence_interval in one.
ConfidenceInterval bootstrap_confidence(const Metric& metric, const SegmentCounts& counts,
                                        const Resampling& resampling = {});

/// Two-sided paired bootstrap test of "the two systems differ only by chance".
///
/// difference       |score of the system − score of the baseline| on the whole test set
/// system_scores, baseline_scores   of the same resamples
/// returns  p = (c + 1) / (n + 1), where c counts the resamples whose absolute difference exceeds
///          its mean over all n of them by `difference` or more. The +1 keeps p above 0 (Noreen,
///          1989). sacreBLEU counts "more" only; the two part where differences are exactly equal,
///          so that equal outputs get p = 1 here.
double paired_p_value(double difference, std::span<const double> system_scores,
                      std::span<const double> baseline_scores);

/// The test from the counts of both systems. Throws Error when they have different numbers of
/// segments.
double paired_bootstrap_test(const Metric& metric, const SegmentCounts& system,
                             const SegmentCounts& baseline, const Resampling& resampling = {});

}  // namespace filigree::evaluate
