#include "filigree/train/schedule.h"

#include <algorithm>
#include <cmath>

namespace filigree::train {

double learning_rate(const TrainOptions& o, int64_t step) {
  const auto s = static_cast<double>(step);
  const double warmup = std::max(1.0, static_cast<double>(o.warmup_steps));
  switch (o.schedule) {
    case Schedule::kNoam:
      return o.learning_rate / std::sqrt(static_cast<double>(o.model_config.d_model)) *
             std::min(1 / std::sqrt(s), s * std::pow(warmup, -1.5));
    case Schedule::kConstant:
      return o.learning_rate * std::min(1.0, s / warmup);
    default:
      return o.learning_rate * std::min(s / warmup, std::sqrt(warmup / s));
  }
}

}  // namespace filigree::train
