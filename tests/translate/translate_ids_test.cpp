#include "filigree/translate/translate_ids.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "tests/translate/test_model.h"

namespace filigree::translate {
namespace {

TEST(TranslateIds, WhatIsThrownBeforeAStepEndsTheWork) {
  const model::Transformer model = random_model(small_config(50));
  const std::vector<int> sentence = {10, 11, 12};
  const std::vector<std::span<const int>> sources(20, sentence);
  for (const int threads : {1, 2}) {
    std::atomic<int> steps = 0;
    BatchOptions options;
    options.threads = threads;
    options.mini_batch = 1;
    options.before_step = [&] {
      if (++steps >= 3) throw std::runtime_error("enough");
    };
    EXPECT_THROW(translate_ids(model, sources, {}, options), std::runtime_error);
    EXPECT_LE(steps, 2 + threads);
  }
}

}  // namespace
}  // namespace filigree::translate
