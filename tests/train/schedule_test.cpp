#include "filigree/train/schedule.h"

#include <gtest/gtest.h>

namespace filigree::train {
namespace {

TrainOptions options_with(Schedule schedule) {
  TrainOptions options;
  options.schedule = schedule;
  options.learning_rate = 0.004;
  options.warmup_steps = 100;
  options.model_config.d_model = 64;
  return options;
}

TEST(Schedule, InverseSqrtPeaksAtTheEndOfTheWarmup) {
  const TrainOptions options = options_with(Schedule::kInverseSqrt);
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 0.00004);
  EXPECT_DOUBLE_EQ(learning_rate(options, 100), 0.004);
  EXPECT_DOUBLE_EQ(learning_rate(options, 400), 0.002);
}

TEST(Schedule, NoamIsThatOfAttentionIsAllYouNeed) {
  TrainOptions options = options_with(Schedule::kNoam);
  options.learning_rate = 2;
  EXPECT_DOUBLE_EQ(learning_rate(options, 100), 2 / 8.0 / 10);
  EXPECT_DOUBLE_EQ(learning_rate(options, 50), 2 / 8.0 * 50 * 0.001);
  EXPECT_DOUBLE_EQ(learning_rate(options, 400), 2 / 8.0 / 20);
}

TEST(Schedule, ConstantStaysAfterTheWarmup) {
  const TrainOptions options = options_with(Schedule::kConstant);
  EXPECT_DOUBLE_EQ(learning_rate(options, 50), 0.002);
  EXPECT_DOUBLE_EQ(learning_rate(options, 5000), 0.004);
}

TEST(Schedule, NoWarmupStartsAtThePeak) {
  TrainOptions options = options_with(Schedule::kInverseSqrt);
  options.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(options, 1), 0.004);
}

}  // namespace
}  // namespace filigree::train
