#include "filigree/evaluate/significance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "filigree/base/error.h"
#include "filigree/base/random.h"

namespace filigree::evaluate {

std::vector<double> bootstrap_scores(const Metric& metric, const SegmentCounts& counts,
                                     const Resampling& resampling) {
  if (resampling.samples < 1) {
    throw UsageError("bootstrap resampling needs at least 1 sample, got {}", resampling.samples);
  }
  const size_t segments = counts.segments();
  if (segments == 0) throw Error("no segments to resample");
  std::vector<double> scores;
  scores.reserve(static_cast<size_t>(resampling.samples));
  std::vector<int64_t> sums(counts.width);
  for (int sample = 0; sample < resampling.samples; ++sample) {
    Random random(combine(resampling.seed, static_cast<uint64_t>(sample)));
    std::fill(sums.begin(), sums.end(), 0);
    for (size_t drawn = 0; drawn < segments; ++drawn) {
      const auto row = counts.row(random.below(segments));
      for (size_t i = 0; i < counts.width; ++i) sums[i] += row[i];
    }
    scores.push_back(metric.score(sums));
  }
  return scores;
}

ConfidenceInterval confidence_interval(std::vector<double> scores) {
  std::sort(scores.begin(), scores.end());
  const size_t cut = scores.size() / 40;
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  return {.mean = sum / static_cast<double>(scores.size()),
          .lower = scores[cut],
          .upper = scores[scores.size() - 1 - cut]};
}

ConfidenceInterval bootstrap_confidence(const Metric& metric, const SegmentCounts& counts,
                                        const Resampling& resampling) {
  return confidence_interval(bootstrap_scores(metric, counts, resampling));
}

double paired_p_value(double difference, std::span<const double> system_scores,
                      std::span<const double> baseline_scores) {
  const size_t samples = system_scores.size();
  std::vector<double> differences(samples);
  for (size_t i = 0; i < samples; ++i) {
    differences[i] = std::abs(system_scores[i] - baseline_scores[i]);
  }
  const double mean =
      std::accumulate(differences.begin(), differences.end(), 0.0) / static_cast<double>(samples);
  const auto as_large = std::count_if(differences.begin(), differences.end(),
                                      [&](double d) { return d - mean >= difference; });
  return static_cast<double>(as_large + 1) / static_cast<double>(samples + 1);
}

double paired_bootstrap_test(const Metric& metric, const SegmentCounts& system,
                             const SegmentCounts& baseline, const Resampling& resampling) {
  if (system.segments() != baseline.segments()) {
    throw Error("cannot pair {} segments of the system with {} of the baseline", system.segments(),
                baseline.segments());
  }
  return paired_p_value(std::abs(metric.score(system.sum()) - metric.score(baseline.sum())),
                        bootstrap_scores(metric, system, resampling),
                        bootstrap_scores(metric, baseline, resampling));
}

}  // namespace filigree::evaluate
