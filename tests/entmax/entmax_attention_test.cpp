// The values and gradients of entmax_attention().
#include "filigree/entmax/entmax_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "tests/entmax/attention_cases.h"
#include "tests/entmax/targets.h"
#include "tests/gradcheck.h"

namespace filigree {
namespace {

using namespace attention_cases;

TEST(EntmaxAttention, EqualsItsCompositionInFloat64) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.queries);
    const Inputs in = inputs_of(c);
    const auto actual = results_of(in, fused), expected = results_of(in, composite);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_LT(error(actual[i], expected[i]), 1e-10) << kNames[i];
    }
  }
}

TEST(EntmaxAttention, EqualsItsCompositionForRandomShapes) {
  std::mt19937 random(7);
  const auto between = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (int draw = 0; draw < 30; ++draw) {
    Case c{between(1, 120), between(1, 150), between(1, 70), between(1, 70)};
    c.batch = 2;
    c.causal = draw % 2 == 1;
    c.dropout = draw % 3 == 1 ? 0.2 : 0;
    c.deviation = static_cast<double>(between(1, 4));
    if (draw % 4 == 0) c.lengths = {between(0, c.keys), between(0, c.keys)};
    if (draw % 5 == 0) c.bias = {c.queries, c.keys};
    SCOPED_TRACE(draw);
    const Inputs in = inputs_of(c);
    const auto actual = results_of(in, fused), expected = results_of(in, composite);
    for (size_t i = 0; i < actual.size(); ++i) {
      EXPECT_LT(error(actual[i], expected[i]), 1e-10) << kNames[i];
    }
  }
}

// The inputs with every score moved, up or down at random, by what the rounding of a product of
// query and key in float32 amounts to: ε |query|ᵀ|key|.
Inputs with_moved_scores(Inputs in) {
  const at::Tensor sizes = at::matmul(in.tensors[0].abs(), in.tensors[1].abs().transpose(-1, -2)) /
                           std::sqrt(static_cast<double>(in.tensors[0].size(-1)));
  const at::Tensor signs = at::randint(0, 2, sizes.sizes(), at::kDouble) * 2 - 1;
  const at::Tensor moved = sizes * signs * std::numeric_limits<float>::epsilon();
  in.options.bias = in.options.bias.defined() ? in.options.bias + moved : moved;
  return in;
}

// The errors of every head in the output and the gradients, [5][heads], relative to the largest
// value where that is above 1. The gradient of α is a sum of terms of order 1, one per query.
std::vector<std::vector<double>> errors_of(const std::vector<at::Tensor>& actual,
                                           const std::vector<at::Tensor>& expected) {
  const at::Tensor& output = expected[0];
  const double rows = static_cast<double>(output.size(0) * output.size(2));
  std::vector<std::vector<double>> errors;
  for (size_t i = 0; i < actual.size(); ++i) {
    std::vector<double>& of_heads = errors.emplace_back();
    for (int64_t h = 0; h < output.size(1); ++h) {
      const int64_t dimension = i == 4 ? 0 : 1;
      const double scale = i == 4 ? std::sqrt(rows) : 1;
      of_heads.push_back(
          error(actual[i].select(dimension, h) / scale, expected[i].select(dimension, h) / scale));
    }
  }
  return errors;
}

// Where α > 1.5 the slope of p changes without bound at the threshold, and at α > 2 so does p:
// there the rounding of the scores alone can cost more than 2e-5, and what it costs at worst is the
// measure.
TEST(EntmaxAttention, IsAccurateInFloat32OnEveryInstructionSet) {
  for (const Case& c : kCases) {
    const Inputs in = inputs_of(c, at::kFloat);
    Inputs wide = in;
    for (size_t i = 0; i < 3; ++i) wide.tensors[i] = in.tensors[i].to(at::kDouble);
    if (in.options.bias.defined()) wide.options.bias = in.options.bias.to(at::kDouble);
    const auto expected = results_of(wide, composite);
    std::vector<std::vector<double>> bounds(5, std::vector<double>(std::size(kAlphas), 2e-5));
    bounds[0].assign(std::size(kAlphas), 2e-6);
    for (int draw = 0; draw < 8; ++draw) {
      at::manual_seed(draw);
      const auto moved = errors_of(results_of(with_moved_scores(wide), composite), expected);
      for (size_t i = 0; i < moved.size(); ++i) {
        for (size_t h = 0; h < moved[i].size(); ++h) {
          bounds[i][h] = std::max(bounds[i][h], 2 * moved[i][h]);
        }
      }
    }
    for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
      const OnTarget on(target);
      const auto errors = errors_of(results_of(in, fused), expected);
      for (size_t i = 0; i < errors.size(); ++i) {
        for (size_t h = 0; h < errors[i].size(); ++h) {
          EXPECT_LT(errors[i][h], bounds[i][h])
              << kNames[i] << " at alpha " << kAlphas[h] << ", " << c.queries << " queries, "
              << hwy::TargetName(target);
        }
      }
    }
  }
}

TEST(EntmaxAttention, GradientsEqualDifferences) {
  const Case c{5, 6, 3, 2, {6, 4, 0}, true, {5, 6}, 0.2};
  const Inputs in = inputs_of(c);
  std::vector<at::Tensor> tensors = in.tensors;
  // Away from 1, where α has a limit from above alone.
  tensors[3] = at::tensor({1.01, 1.05, 1.1, 1.3, 1.5, 1.7, 2.0, 2.5}, at::kDouble);
  expect_gradients([&](const auto& t) { return fused(t, in.options); }, tensors);
}

TEST(EntmaxAttention, SecondGradientsEqualDifferences) {
  at::manual_seed(1);
  const std::vector<at::Tensor> tensors = {
      at::randn({1, 2, 3, 2}, at::kDouble), at::randn({1, 2, 4, 2}, at::kDouble),
      at::randn({1, 2, 4, 2}, at::kDouble), at::tensor({1.3, 1.5}, at::kDouble)};
  EntmaxAttentionOptions options;
  options.key_lengths = at::tensor({3});
  expect_second_gradients([&](const auto& t) { return fused(t, options); }, tensors);
}

TEST(EntmaxAttention, BiasMayRequireAGradient) {
  Inputs in = inputs_of({5, 6, 3, 2});
  in.tensors[3] = at::tensor({1.01, 1.05, 1.1, 1.3, 1.5, 1.7, 2.0, 2.5}, at::kDouble);
  in.tensors.push_back(at::randn({5, 6}, at::kDouble));
  expect_gradients(
      [&](const auto& t) {
        EntmaxAttentionOptions options = in.options;
        options.bias = t[4];
        return fused(t, options);
      },
      in.tensors);
}

TEST(EntmaxAttention, ChangesItsPathWithTheDensityOfTheBlocks) {
  // Blocks of 48 queries with even and with peaked scores in turns.
  Inputs in = inputs_of({240, 200, 16, 16, {}, false, {}, 0, 1, 1});
  const at::Tensor block = at::arange(240).div(48, "floor").remainder(2);
  in.tensors[0] = in.tensors[0] * (block * 8 + 0.01).view({240, 1});
  in.tensors[3] = at::full({8}, 1.3, at::kDouble);
  const auto actual = results_of(in, fused), expected = results_of(in, composite);
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_LT(error(actual[i], expected[i]), 1e-10) << kNames[i];
  }
}

TEST(EntmaxAttention, IsTheSameOnOneAndTwoThreads) {
  const int threads = at::get_num_threads();
  for (const int64_t batch : {2, 1}) {
    Case c{300, 300, 16, 16, {}, true};
    c.batch = batch;
    const Inputs in = inputs_of(c, at::kFloat);
    at::set_num_threads(1);
    const auto one = results_of(in, fused);
    at::set_num_threads(2);
    const auto two = results_of(in, fused), again = results_of(in, fused);
    for (size_t i = 0; i < one.size(); ++i) {
      EXPECT_TRUE(at::equal(two[i], again[i])) << kNames[i];
      EXPECT_LT(error(two[i], one[i]), 1e-5) << kNames[i];
    }
  }
  // A head for two threads: each has every other block, and their sums are added up in order.
  Inputs in = inputs_of({300, 300, 16, 16, {}, true, {}, 0, 1, 1}, at::kFloat);
  for (at::Tensor& t : in.tensors) t = t.narrow(t.dim() == 4 ? 1 : 0, 4, 1);
  at::set_num_threads(1);
  const auto one = results_of(in, fused);
  at::set_num_threads(2);
  const auto two = results_of(in, fused);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_LT(error(two[i], one[i]), 1e-5) << kNames[i];
  at::set_num_threads(threads);
}

TEST(EntmaxAttention, DoesNotDependOnTheRestOfTheBatch) {
  const Inputs in = inputs_of({70, 70, 16, 16, {70, 30, 50}}, at::kFloat);
  const auto all = results_of(in, fused);
  Inputs alone = in;
  for (size_t i = 0; i < 3; ++i) {
    alone.tensors[i] = in.tensors[i].narrow(0, 1, 1).narrow(2, 0, i == 0 ? 70 : 30);
  }
  alone.options.key_lengths = at::Tensor();
  EXPECT_TRUE(at::equal(fused(alone.tensors, alone.options), all[0].narrow(0, 1, 1)));
}

TEST(EntmaxAttention, TakesTransposedTensorsAsTheyAre) {
  const Inputs in = inputs_of({40, 40, 16, 16}, at::kFloat);
  Inputs transposed = in;
  for (size_t i = 0; i < 3; ++i) {
    transposed.tensors[i] = in.tensors[i].transpose(1, 2).contiguous().transpose(1, 2);
  }
  const auto expected = results_of(in, fused), actual = results_of(transposed, fused);
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i]));
  EXPECT_TRUE(actual[0].transpose(1, 2).is_contiguous());
}

}  // namespace
}  // namespace filigree
