// What the loss is: its definition, cross entropy at α = 1, and the same on every path.
#include "filigree/entmax/loss.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "filigree/entmax/entmax.h"
#include "filigree/entmax/loss_operators.h"
#include "tests/entmax/loss_tensors.h"

namespace filigree {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kAlphas[] = {1, 1 + 1e-6, 1.1, 1.5, 1.9, 2, 3};

// The definition, in long double: p by bisection, then (p − y)ᵀz + H_α(p) as it stands.
double loss_by_definition(const at::Tensor& row, int64_t target, double alpha, double smoothing) {
  using Real = long double;
  std::vector<Real> z, p;
  for (int64_t i = 0; i < row.numel(); ++i) z.push_back(row[i].item<double>());
  const Real epsilon = static_cast<Real>(alpha) - 1;
  const Real max = *std::max_element(z.begin(), z.end());
  const auto weights = [&](Real threshold) {
    p.clear();
    Real sum = 0;
    for (const Real score : z) {
      const Real t = score - max;
      Real weight = 0;
      if (epsilon == 0) {
        weight = std::exp(t - threshold);
      } else if (1 + epsilon * (t - threshold) > 0) {
        weight = std::exp(std::log1p(epsilon * (t - threshold)) / epsilon);
      }
      p.push_back(weight);
      sum += weight;
    }
    return sum;
  };
  Real low = 0, high = std::log(static_cast<Real>(z.size())) + 1;
  for (int i = 0; i < 200; ++i) {
    const Real middle = (low + high) / 2;
    (weights(middle) > 1 ? low : high) = middle;
  }
  weights(low);
  Real value = 0, unmasked = 0, mean = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    if (std::isinf(z[i])) continue;
    ++unmasked;
    mean += z[i];
    if (p[i] == 0) continue;
    value += p[i] * z[i];
    value += epsilon == 0 ? -p[i] * std::log(p[i])
                          : (p[i] - std::pow(p[i], Real(alpha))) / (alpha * epsilon);
  }
  return static_cast<double>(value - (1 - smoothing) * z[target] - smoothing * mean / unmasked);
}

TEST(EntmaxLoss, IsItsDefinition) {
  const int64_t rows = 6, classes = 37;
  at::Tensor z = normal({rows, classes}) * 4;
  z[2].slice(0, 5, 20).fill_(-kInfinity);
  z[3] += 1000;
  const at::Tensor y = targets({0, 36, 4, 9, 17, 20});
  for (const double alpha : kAlphas) {
    for (const double smoothing : {0.0, 0.1, 1.0}) {
      const at::Tensor loss = rows_loss(z, y, alpha, smoothing);
      const at::Tensor single = rows_loss(z.to(at::kFloat), y, alpha, smoothing);
      for (int64_t r = 0; r < rows; ++r) {
        const double expected = loss_by_definition(z[r], y[r].item<int64_t>(), alpha, smoothing);
        EXPECT_NEAR(loss[r].item<double>(), expected,
                    1e-9 + 1e-12 * std::abs(z[r][0].item<double>()))
            << "alpha " << alpha << " row " << r << " smoothing " << smoothing;
        EXPECT_NEAR(single[r].item<float>(), expected, 1e-4) << "alpha " << alpha << " row " << r;
      }
    }
  }
}

TEST(EntmaxLoss, AlphaOneIsCrossEntropy) {
  for (const auto type : {at::kDouble, at::kFloat}) {
    const double tolerance = type == at::kDouble ? 1e-12 : 2e-6;
    const at::Tensor z = normal({5, 50, 3}, 1, type) * 3;
    at::Tensor y = random_targets({5, 3}, 50);
    y[1][2] = -100;
    y[4][0] = 9;
    for (const double smoothing : {0.0, 0.1, 1.0}) {
      for (const int64_t reduction :
           {at::Reduction::None, at::Reduction::Mean, at::Reduction::Sum}) {
        for (const int64_t ignored : {-100, 9}) {
          at::Tensor labels = y.clone();
          if (ignored == 9) labels[1][2] = 0;
          const at::Tensor ours = z.clone().requires_grad_(), theirs = z.clone().requires_grad_();
          const at::Tensor a = entmax_loss(ours, labels, 1.0, 1, reduction, ignored, smoothing);
          const at::Tensor b =
              at::cross_entropy_loss(theirs, labels, {}, reduction, ignored, smoothing);
          expect_close(a, b, tolerance);
          a.sum().backward();
          b.sum().backward();
          expect_close(ours.grad(), theirs.grad(), tolerance);
        }
      }
    }
  }
}

TEST(EntmaxLoss, AllIgnoredIsWhatCrossEntropySays) {
  const at::Tensor z = normal({3, 4});
  const at::Tensor y = targets({-100, -100, -100});
  for (const int64_t reduction : {at::Reduction::None, at::Reduction::Mean, at::Reduction::Sum}) {
    for (const double smoothing : {0.0, 0.1}) {
      const at::Tensor ours = entmax_loss(z, y, 1.5, -1, reduction, -100, smoothing);
      expect_close(ours, at::cross_entropy_loss(z, y, {}, reduction, -100, smoothing), 0);
    }
  }
  EXPECT_TRUE(std::isnan(entmax_loss(z, y, 1.5).item<double>()));
}

TEST(EntmaxLoss, EmptyBatchIsWhatCrossEntropySays) {
  const at::Tensor z = at::empty({0, 4}).requires_grad_();
  const at::Tensor y = at::empty({0}, at::kLong);
  EXPECT_TRUE(std::isnan(entmax_loss(z, y, 1.5).item<double>()));
  const at::Tensor sum = entmax_loss(z, y, 1.5, -1, at::Reduction::Sum);
  EXPECT_EQ(sum.item<double>(), 0);
  sum.backward();
  EXPECT_EQ(z.grad().sizes(), z.sizes());
}

TEST(EntmaxLoss, TheGradientIsTheDistributionLessTheTarget) {
  const at::Tensor z = (normal({4, 9}) * 2).requires_grad_();
  const at::Tensor y = targets({1, 3, 8, 0});
  for (const double alpha : kAlphas) {
    z.mutable_grad() = at::Tensor();
    entmax_loss(z, y, alpha, -1, at::Reduction::Sum).backward();
    const at::Tensor target = at::one_hot(y, 9).to(at::kDouble);
    expect_close(z.grad(), entmax(z.detach(), alpha) - target, 1e-14);
    z.mutable_grad() = at::Tensor();
    entmax_loss(z, y, alpha, -1, at::Reduction::Mean, -100, 0.3).backward();
    expect_close(z.grad(), (entmax(z.detach(), alpha) - 0.7 * target - 0.3 / 9) / 4, 1e-14);
  }
}

TEST(EntmaxLoss, IsTheMaximumOverAllDistributions) {
  const at::Tensor z = normal({20, 5}, 3) * 2;
  const at::Tensor y = random_targets({20}, 5);
  for (const double alpha : {1.1, 1.5, 2.0, 3.0}) {
    const at::Tensor loss = rows_loss(z, y, alpha);
    for (int trial = 0; trial < 50; ++trial) {
      const at::Tensor q = entmax(normal({20, 5}, 100 + trial) * 2, 1.4);
      const at::Tensor entropy = (q - q.pow(alpha)).sum(-1) / (alpha * (alpha - 1));
      const at::Tensor lower = (q * z).sum(-1) + entropy - z.gather(1, y.unsqueeze(1)).squeeze(1);
      EXPECT_TRUE((loss >= lower - 1e-12).all().item<bool>()) << alpha;
    }
  }
}

TEST(EntmaxLoss, IsZeroFromTheMarginOnAndPositiveBelowIt) {
  for (const double alpha : {1.25, 1.5, 2.0, 3.0}) {
    const double margin = 1 / (alpha - 1);
    for (const auto type : {at::kFloat, at::kDouble}) {
      const at::Tensor z = normal({6}, 1, type).clamp_max(0);
      const auto loss_with_lead = [&](double lead) {
        at::Tensor led = z.clone();
        led[2] = -kInfinity;
        led[2] = led.max() + lead;
        return rows_loss(led, targets({2})[0], alpha).item<double>();
      };
      EXPECT_EQ(loss_with_lead(margin * 1.001), 0) << alpha;
      EXPECT_GT(loss_with_lead(margin * 0.9), 0) << alpha;
      EXPECT_GT(loss_with_lead(-1), loss_with_lead(0.5 * margin));
    }
  }
  const at::Tensor z = normal({200, 30}, 5, at::kFloat) * 5;
  for (const double alpha : kAlphas) {
    EXPECT_GE(rows_loss(z, z.argmax(-1), alpha).min().item<float>(), -1e-6) << alpha;
  }
}

TEST(EntmaxLoss, ThreadsDoNotChangeABit) {
  const at::Tensor z = normal({500, 333}, 3, at::kFloat) * 2;
  const at::Tensor y = random_targets({500}, 333);
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    const at::Tensor scores = z.clone().requires_grad_();
    const at::Tensor alpha = at::scalar_tensor(1.3).requires_grad_();
    const at::Tensor loss = entmax_loss(scores, y, alpha, -1, at::Reduction::None, 5, 0.1);
    loss.sum().backward();
    return std::vector<at::Tensor>{loss.detach(), scores.grad(), alpha.grad()};
  };
  const int before = at::get_num_threads();
  const auto one = run(1), two = run(2);
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], two[i]));
}

TEST(EntmaxLoss, WithoutGradientIsTheSameNumber) {
  const at::Tensor z = normal({7, 20000}, 3, at::kFloat);
  const at::Tensor y = random_targets({7}, 20000);
  for (const double alpha : kAlphas) {
    EXPECT_TRUE(at::equal(rows_loss(z, y, alpha, 0.1),
                          rows_loss(z.clone().requires_grad_(), y, alpha, 0.1).detach()));
  }
}

// The tensor operations that other devices use, against the kernels.
TEST(EntmaxLoss, CompositeEqualsKernels) {
  using namespace entmax_operators;
  at::Tensor z = normal({9, 40}) * 3;
  z[1].fill_(-kInfinity);
  z[2].slice(0, 10, 30).fill_(-kInfinity);
  z[3][4] = kInfinity;
  z[4].fill_(std::nan(""));
  z[5][7] = std::nan("");
  z[6][3] = -kInfinity;
  const at::Tensor y = targets({0, 1, 5, 4, -1, 3, 3, 39, -1});
  const at::Tensor dloss = normal({9}, 4);
  for (const double value : kAlphas) {
    const at::Tensor alpha = at::scalar_tensor(value, at::kDouble);
    for (const double smoothing : {0.0, 0.1, 1.0}) {
      const auto kernels = loss_cpu(z, y, alpha, smoothing, true, true);
      const auto composite = loss_composite(z, y, alpha, smoothing, true, true);
      expect_close(std::get<0>(composite), std::get<0>(kernels), 1e-12);
      expect_close(std::get<1>(composite), std::get<1>(kernels), 0);
      expect_close(std::get<2>(composite), std::get<2>(kernels), 1e-12);
      // Each with its own p, whose zeros tell masked entries by their sign.
      expect_close(loss_backward_composite(dloss, std::get<1>(composite), y, smoothing),
                   loss_backward_cpu(dloss, std::get<1>(kernels), y, smoothing), 1e-14);
    }
  }
}

TEST(EntmaxLossOperator, IsRegisteredByName) {
  const at::Tensor z = normal({4, 5});
  const at::Tensor y = targets({1, 2, 3, -100});
  const auto call = [](const char* overload, std::vector<c10::IValue> stack) {
    const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("filigree::entmax_loss", overload);
    op.schema().checkAndNormalizeInputs(stack, {});
    op.callBoxed(&stack);
    return stack[0].toTensor();
  };
  EXPECT_TRUE(at::equal(call("Scalar", {z, y, 1.5}), entmax_loss(z, y, 1.5)));
  const at::Tensor alpha = at::scalar_tensor(1.3, at::kDouble);
  EXPECT_TRUE(at::equal(call("", {z, y, alpha, -1, 2, -100, 0.1}),
                        entmax_loss(z, y, alpha, -1, at::Reduction::Sum, -100, 0.1)));
}

}  // namespace
}  // namespace filigree
