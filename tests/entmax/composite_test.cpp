// The tensor operations that stand in for the kernels on other devices, run on the CPU.
#include "filigree/entmax/composite.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "filigree/entmax/entmax.h"
#include "tests/entmax/golden_cases.h"
#include "tests/entmax/tensors.h"
#include "tests/gradcheck.h"

namespace filigree::entmax_operators {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kAlphas[] = {1, 1 + 0x1p-20, 1.05, 1.3, 1.5, 1.8, 1.999, 2, 2.001, 2.5, 4};

at::Tensor scalar(double value) { return at::scalar_tensor(value, at::kDouble); }

class EntmaxCompositeGolden : public GoldenCases {
 protected:
  template <typename T>
  static Result<T> run(const Case& c) {
    const auto type = c10::CppTypeToScalarType<T>::value;
    const auto tensor = [&](const std::vector<double>& list) { return values(list).to(type); };
    const auto list = [](const at::Tensor& t) {
      return std::vector<T>(t.template data_ptr<T>(), t.template data_ptr<T>() + t.numel());
    };
    const auto [p, tau, support] = forward_composite(tensor(c.z), scalar(c.alpha), -1);
    const auto [dz, dalpha] = backward_composite(p, tensor(c.g), scalar(c.alpha), -1, true);
    return {list(p), list(dz), tau.template item<T>(), support.template item<int64_t>(),
            dalpha.template item<double>()};
  }
};

TEST_F(EntmaxCompositeGolden, RightAtEveryAlpha) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    expect_double(c, run<double>(c));
    if (c.name.starts_with("near_tie")) continue;  // its scores are no floats
    expect_float(c, run<float>(c));
  }
}

class EntmaxComposite : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  at::ScalarType type() const { return GetParam(); }
  double tolerance() const { return type() == at::kFloat ? 3e-6 : 1e-12; }

  // All values of α at once, a column each, as in a call with α per head.
  // slack: in units of tolerance(), for rows whose p depends on every score's last digit.
  void expect_like_kernels(const at::Tensor& z, double slack = 1) const {
    const at::Tensor alpha = at::tensor(at::ArrayRef<double>(kAlphas), at::dtype(at::kDouble));
    const at::Tensor scores = z.unsqueeze(-1).expand({-1, -1, alpha.size(0)});  // rows along dim 1
    const auto [p, tau, support] = forward_composite(scores, alpha, 1);
    const auto [expected, expected_tau, expected_support] =
        forward_cpu(scores.to(at::kDouble), alpha, 1);
    expect_close(p.to(at::kDouble), expected, slack * tolerance(), "p");
    expect_close(tau.to(at::kDouble), expected_tau, 10 * tolerance(), "tau");
    EXPECT_TRUE(at::equal(support, (p > 0).sum(1, true)));
    expect_close(p.sum(1), at::ones_like(p.select(1, 0)), tolerance(), "sum");

    // From the same p. In float only up to α = 2: above, the gradients magnify its last digit.
    const int64_t columns = type() == at::kDouble ? alpha.size(0) : 8;
    const at::Tensor some = p.slice(2, 0, columns), some_alpha = alpha.slice(0, 0, columns);
    const at::Tensor dp = normal(some.sizes(), 8, type());
    const auto [dz, dalpha] = backward_composite(some, dp, some_alpha, 1, true);
    const auto [expected_dz, expected_dalpha] = backward_cpu(some, dp, some_alpha, 1, true);
    const at::Tensor scale = expected_dz.abs().amax({0, 1}, /*keepdim=*/true).clamp_min(1);
    expect_close(dz / scale, expected_dz / scale, 10 * tolerance(), "dz");
    const at::Tensor alpha_scale = expected_dalpha.abs().clamp_min(1);
    expect_close(dalpha / alpha_scale, expected_dalpha / alpha_scale, 50 * tolerance(), "dalpha");
  }
};

TEST_P(EntmaxComposite, AgreesWithTheKernels) {
  for (const int64_t n : {1, 2, 3, 7, 16, 31, 64, 150, 700}) {
    for (const double deviation : {0.01, 1.0, 30.0}) {
      SCOPED_TRACE("n " + std::to_string(n) + " deviation " + std::to_string(deviation));
      expect_like_kernels(normal({6, n}, n, type()) * deviation);
    }
  }
}

TEST_P(EntmaxComposite, AgreesWithTheKernelsOnRowsOfUnusualShape) {
  const at::Tensor i = at::arange(200, at::dtype(at::kDouble));
  const at::Tensor rows = at::stack({-(i / 200), -2 * (i / 200).pow(3), 0.5 * at::pow(0.9, i),
                                     at::log1p(i), -at::floor(i / 20), at::zeros_like(i),
                                     at::where(i == 7, at::ones_like(i), at::zeros_like(i))});
  expect_like_kernels(rows.to(type()), 10);
}

// Sparsemax scores in blocks, each a little below the threshold that Newton's method has come to
// once the block after it is gone: every step removes one block only.
at::Tensor slow_row(int64_t n, double share, double first_gap, double growth, int64_t ties) {
  std::vector<double> t(static_cast<size_t>(ties), 0.0);
  double total = 0, gap = first_gap;
  while (static_cast<int64_t>(t.size()) < n) {
    const auto size = static_cast<double>(t.size());
    const double value = (total - 1) / size - gap;
    for (auto block = std::max(1.0, std::round(size * (1 / share - 1)));
         block > 0 && static_cast<int64_t>(t.size()) < n; --block) {
      t.push_back(value);
      total += value;
    }
    gap *= growth;
  }
  return values(t);
}

TEST_P(EntmaxComposite, TakesEnoughStepsForRowsThatNeedMany) {
  expect_like_kernels(
      at::stack({slow_row(64, 0.75, 0x1p-21, 4, 3), slow_row(64, 0.9, 0x1p-51, 16, 2),
                 slow_row(64, 0.75, 0x1p-40, 6, 3)})
          .to(type()));
  expect_like_kernels(slow_row(1024, 0.7, 0x1p-21, 2.5, 4).unsqueeze(0).to(type()));
}

TEST_P(EntmaxComposite, MasksInfinitiesAndNaNStayInTheirRow) {
  const double huge =
      type() == at::kFloat ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const at::Tensor z = at::stack({values({1, 2, -kInfinity, 2}), at::full({4}, -kInfinity),
                                  values({0, kNaN, 1, 2}), values({1, kInfinity, 5, kInfinity}),
                                  values({huge, -huge, huge, 0}), values({-huge, -huge, -huge, 3})})
                           .to(type());
  for (const double alpha : kAlphas) {
    SCOPED_TRACE(alpha);
    for (const at::Tensor& a : {scalar(alpha), values({alpha, alpha, alpha, alpha, alpha, 4, 1})}) {
      const bool mixed = a.dim() > 0;
      const at::Tensor scores = mixed ? at::cat({z, z.slice(0, 0, 1)}) : z;
      const at::Tensor aligned = mixed ? a.unsqueeze(-1) : a;
      const auto [p, tau, support] = forward_composite(scores, aligned, -1);
      const auto [expected, expected_tau, expected_support] = forward_cpu(scores, aligned, -1);
      expect_close(p, expected, 1e-6);
      expect_close(tau, expected_tau, 1e-6);
      EXPECT_TRUE(at::equal(support, expected_support)) << support << expected_support;
      at::Tensor dp = normal(scores.sizes(), 3, type());
      dp[0][2] = kNaN;  // off the support it does not matter
      const auto [dz, dalpha] = backward_composite(p, dp, aligned, -1, true);
      const auto [expected_dz, expected_dalpha] = backward_cpu(p, dp, aligned, -1, true);
      expect_close(dz, expected_dz, 1e-5);
      expect_close(dalpha, expected_dalpha, 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, EntmaxComposite, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& info) { return std::string(c10::toString(info.param)); });

TEST(EntmaxCompositeShapes, AnyDimensionAndAnyStrides) {
  const at::Tensor z = normal({3, 4, 5, 6}, 1);
  for (int64_t dim = -4; dim < 4; ++dim) {
    const auto [p, tau, support] = forward_composite(z.permute({2, 0, 3, 1}), scalar(1.4), dim);
    const auto [q, expected_tau, expected_support] =
        forward_cpu(z.permute({2, 0, 3, 1}), scalar(1.4), dim);
    expect_close(p, q, 1e-12);
    expect_close(tau, expected_tau, 1e-12);
    EXPECT_TRUE(at::equal(support, expected_support));
    EXPECT_TRUE(p.is_contiguous());
  }
  for (const at::Tensor& alpha : {values({1, 1.5, 2.5}).view({3, 1, 1}), values({1, 1.2, 4})}) {
    const at::Tensor heads = normal({2, 3, 4, 5}, 2);
    expect_close(std::get<0>(forward_composite(heads, alpha, -1)),
                 std::get<0>(forward_cpu(heads, alpha, -1)), 1e-12);
  }
  EXPECT_EQ(std::get<0>(forward_composite(scalar(3.5), scalar(1.5), 0)).item<double>(), 1);
  EXPECT_EQ(std::get<0>(forward_composite(at::empty({0, 5}), scalar(1.3), -1)).sizes(),
            at::IntArrayRef({0, 5}));
  const auto [p, tau, support] = forward_composite(at::empty({2, 0}), scalar(1.3), -1);
  EXPECT_TRUE(at::isinf(tau).all().item<bool>());
  EXPECT_EQ(support.sum().item<int64_t>(), 0);
}

TEST(EntmaxCompositeShapes, HalfTypesAreComputedInFloat) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor z = (normal({6, 40}, 1) * 3).to(type);
    const auto [p, tau, support] = forward_composite(z, scalar(1.37), -1);
    EXPECT_TRUE(
        at::equal(p, std::get<0>(forward_composite(z.to(at::kFloat), scalar(1.37), -1)).to(type)));
    EXPECT_EQ(tau.scalar_type(), at::kFloat);
    EXPECT_EQ(std::get<0>(backward_composite(p, p, scalar(1.37), -1, false)).scalar_type(), type);
  }
}

TEST(EntmaxCompositeShapes, AlphaBelowOneIsAnErrorWhereItsValueIsKnown) {
  try {
    forward_composite(normal({2, 3}, 1), values({1.5, 0.9}).view({2, 1}), -1);
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr("alpha must be at least 1"));
  }
}

// What defines the transform: p_i^ε − p_j^ε = ε (z_i − z_j) on the support, and no more than that
// from the support to an entry off it. (The threshold itself has too few digits to tell.)
TEST(EntmaxCompositeLargeAlpha, MeetsTheDefinition) {
  for (const double alpha : {6.0, 30.0, 100.0}) {
    for (const double deviation : {1e-4, 0.01, 1.0}) {
      const at::Tensor z = normal({20, 50}, 5) * deviation;
      for (const auto& forward : {forward_composite, forward_cpu}) {
        const at::Tensor p = std::get<0>(forward(z, scalar(alpha), -1));
        const at::Tensor power = p.pow(alpha - 1), gap = (alpha - 1) * (z - z.amax(-1, true));
        const at::Tensor excess = power - power.amax(-1, true) - gap;
        expect_close(p.sum(-1), at::ones({20}, at::kDouble), 1e-12);
        EXPECT_LE(at::where(p > 0, excess.abs(), -excess).max().item<double>(), 1e-12);
      }
      expect_close(
          std::get<0>(forward_composite(z.to(at::kFloat), scalar(alpha), -1)),
          std::get<0>(forward_composite(z.to(at::kFloat).to(at::kDouble), scalar(alpha), -1))
              .to(at::kFloat),
          3e-6);
    }
    expect_close(std::get<0>(forward_composite(at::ones({300}), scalar(alpha), -1)),
                 at::full({300}, 1 / 300.0), 1e-6);
  }
}

TEST(EntmaxCompositeLargeAlpha, AgreesWithTheKernels) {
  for (const double alpha : {2.1, 2.5, 4.0, 8.0, 30.0, 100.0}) {
    for (const int64_t n : {1, 2, 3, 7, 16, 31, 64, 150, 300}) {
      for (const double deviation : {0.01, 0.1, 1.0, 30.0}) {
        SCOPED_TRACE("alpha " + std::to_string(alpha) + " n " + std::to_string(n) + " deviation " +
                     std::to_string(deviation));
        const at::Tensor plain = normal({4, n}, n), gaps = (plain > 0.5).to(at::kDouble);
        const at::Tensor ties = at::round(plain * 4) / 4;
        const at::Tensor z = (at::cat({plain, ties, gaps, gaps + 0.001 * plain}) * deviation)
                                 .to(at::kFloat)
                                 .to(at::kDouble);
        const auto [p, tau, support] = forward_composite(z, scalar(alpha), -1);
        const auto [actual, actual_tau, actual_support] = forward_cpu(z, scalar(alpha), -1);
        expect_close(actual, p, 1e-12, "p");
        expect_close(actual_tau, tau, 1e-12, "tau");
        EXPECT_TRUE(at::equal(actual_support, support));
        expect_close(std::get<0>(forward_cpu(z.to(at::kFloat), scalar(alpha), -1)),
                     p.to(at::kFloat), 1e-7, "p in float");
      }
    }
  }
}

class EntmaxCompositeGradient : public ::testing::TestWithParam<double> {};

// An independent check of both gradients: differences of the forward pass.
TEST_P(EntmaxCompositeGradient, EqualsDifferences) {
  const double alpha = GetParam(), step = 1e-6;
  const at::Tensor z = normal({3, 7}, 1), dp = normal({3, 7}, 2);
  const auto value = [&](const at::Tensor& scores, double a) {
    return (std::get<0>(forward_composite(scores, scalar(a), -1)) * dp).sum().item<double>();
  };
  const auto [dz, dalpha] = backward_composite(std::get<0>(forward_composite(z, scalar(alpha), -1)),
                                               dp, scalar(alpha), -1, true);
  for (int64_t i = 0; i < z.numel(); ++i) {
    at::Tensor offset = at::zeros_like(z);
    offset.view(-1)[i] = step;
    EXPECT_NEAR(dz.view(-1)[i].item<double>(),
                (value(z + offset, alpha) - value(z - offset, alpha)) / (2 * step), 1e-7);
  }
  if (alpha == 1) return;  // differences would need α below 1
  EXPECT_NEAR(dalpha.item<double>(), (value(z, alpha + step) - value(z, alpha - step)) / (2 * step),
              1e-6);
}

INSTANTIATE_TEST_SUITE_P(Alphas, EntmaxCompositeGradient,
                         ::testing::Values(1, 1.01, 1.2, 1.5, 1.75, 1.99, 2.1, 2.5));

TEST(NewtonSteps, GrowWithTheRowAndItsAlphaAndStayFew) {
  EXPECT_EQ(newton_steps(1, 1, 24), 1);
  EXPECT_EQ(newton_steps(64, 1, 24), 15);
  EXPECT_EQ(newton_steps(64, 1, 53), 23);
  EXPECT_EQ(newton_steps(1024, 1, 24), 20);
  for (const double epsilon : {1e-7, 0.01, 0.5}) {
    EXPECT_LE(newton_steps(1024, epsilon, 53), newton_steps(1024, 2 * epsilon, 53));
    EXPECT_LE(newton_steps(512, epsilon, 53), newton_steps(1024, epsilon, 53));
  }
}

// Which code the dispatcher runs for tensors of a device. (The code itself runs on any tensor.)
template <typename Signature, typename... Args>
auto call_as_on(c10::DispatchKey device, const char* name, const Args&... args) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
  return op.redispatch(c10::DispatchKeySet(device), args...);
}

TEST(EntmaxDispatch, OtherDevicesRunTheComposite) {
  const at::Tensor z = normal({5, 40}, 1), dp = normal({5, 40}, 2), alpha = scalar(1.3);
  const auto [p, tau, support] = forward_composite(z, alpha, -1);
  const auto [dz, dalpha] = backward_composite(p, dp, alpha, -1, true);
  ASSERT_FALSE(at::equal(p, std::get<0>(forward_cpu(z, alpha, -1)))) << "cannot tell them apart";
  for (const auto key : {c10::DispatchKey::CUDA, c10::DispatchKey::XLA, c10::DispatchKey::MPS,
                         c10::DispatchKey::PrivateUse1}) {
    const auto forward = call_as_on<decltype(forward_cpu)>(key, "filigree::entmax_with_threshold",
                                                           z, alpha, int64_t{-1});
    EXPECT_TRUE(at::equal(std::get<0>(forward), p));
    const auto backward = call_as_on<decltype(backward_cpu)>(key, "filigree::_entmax_backward", p,
                                                             dp, alpha, int64_t{-1}, true);
    EXPECT_TRUE(at::equal(std::get<0>(backward), dz));
  }
  EXPECT_TRUE(at::equal(entmax(z, alpha), std::get<0>(forward_cpu(z, alpha, -1))));
}

TEST(EntmaxDispatch, OnMetaTensorsGivesShapesAndGradientShapes) {
  const auto meta = at::dtype(at::kBFloat16).device(at::kMeta);
  const at::Tensor z = at::empty({2, 3, 4, 5}, meta).transpose(1, 2).requires_grad_();
  const at::Tensor alpha =
      at::empty({4, 1}, at::dtype(at::kFloat).device(at::kMeta)).requires_grad_();
  const auto [p, tau, support] = entmax_with_threshold(z, alpha, 3);
  EXPECT_TRUE(p.is_meta());
  EXPECT_EQ(p.sizes(), z.sizes());
  EXPECT_TRUE(p.is_contiguous());
  EXPECT_EQ(p.scalar_type(), at::kBFloat16);
  EXPECT_EQ(tau.sizes(), at::IntArrayRef({2, 4, 3, 1}));
  EXPECT_EQ(tau.scalar_type(), at::kFloat);
  EXPECT_EQ(support.scalar_type(), at::kLong);
  p.sum().backward();
  EXPECT_EQ(z.grad().sizes(), z.sizes());
  EXPECT_EQ(alpha.grad().sizes(), alpha.sizes());
  EXPECT_EQ(entmax(z, 1.5).sizes(), z.sizes());
}

}  // namespace
}  // namespace filigree::entmax_operators
