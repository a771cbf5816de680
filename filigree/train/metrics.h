// metrics.jsonl: one JSON object per report, of training and of validation.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "filigree/model/transformer.h"

namespace filigree::train {

inline constexpr const char* kMetricsFile = "metrics.jsonl";

/// The mean over the updates since the last report.
struct TrainingReport {
  int64_t step;
  double epoch;  ///< with the share of the current one
  double loss;   ///< of training, per target token, label-smoothed, nats
  double learning_rate;
  double gradient_norm;
  double tokens_per_second;  ///< target tokens
};

struct ValidationReport {
  int64_t step = 0;
  double epoch = 0;
  double loss = 0;  ///< that of training, without label smoothing, per target token, nats
  /// With a sparse output, ε-perplexity: see model::LossSums::log_likelihood.
  double perplexity = 0;
  std::optional<double> bleu, chrf;
};

/// What to call the perplexity of a model: "perplexity" or "epsilon_perplexity".
const char* perplexity_name(const model::ModelConfig& config);

/// The validations in a metrics.jsonl, in order; a loss that was not finite is NaN. A line that was
/// cut short is passed over. Throws Error when the file cannot be read.
std::vector<ValidationReport> read_validations(const std::filesystem::path& file);

class MetricsFile {
 public:
  /// Keeps what is there up to `step`, for a training that goes on from it; a line that was cut
  /// short is dropped.
  MetricsFile(std::filesystem::path path, int64_t step);

  void write(const TrainingReport& report);
  /// With α and density of every head, by block: [layer][head].
  void write(const ValidationReport& report, const model::Transformer& model,
             const model::AttentionCounts& counts);

 private:
  std::filesystem::path path_;
};

}  // namespace filigree::train
