#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <limits>
#include <string>
#include <vector>

#include "filigree/entmax/entmax.h"
#include "tests/entmax/tensors.h"
#include "tests/gradcheck.h"

namespace filigree {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Entmax, AlphaOneIsSoftmax) {
  const at::Tensor z = normal({4, 30});
  expect_close(entmax(z, 1.0), at::softmax(z, -1), 1e-12);
  expect_close(std::get<1>(entmax_with_threshold(z, 1.0)), at::logsumexp(z, -1, true), 1e-12);
}

TEST(Entmax, ReturnsThresholdAndSupportWithSizeOneAlongTheDimension) {
  const at::Tensor z = normal({2, 5, 3});
  const auto [p, tau, support] = entmax_with_threshold(z, 1.5, 1);
  EXPECT_EQ(tau.sizes(), at::IntArrayRef({2, 1, 3}));
  expect_close((0.5 * z - tau).clamp_min(0).square(), p, 1e-12);
  EXPECT_TRUE(at::equal(support, (p > 0).sum(1, true)));
}

TEST(Entmax, AnyDimensionAndAnyStrides) {
  const at::Tensor z = normal({3, 4, 5, 6});
  for (int64_t dim = -4; dim < 4; ++dim) {
    const at::Tensor expected = entmax(z.movedim(dim, -1).contiguous(), 1.4).movedim(-1, dim);
    const at::Tensor p = entmax(z, 1.4, dim);
    EXPECT_TRUE(at::equal(p, expected)) << "dimension " << dim;
    EXPECT_TRUE(p.is_contiguous());
    EXPECT_TRUE(at::equal(entmax(z.permute({2, 0, 3, 1}), 1.4, dim),
                          entmax(z.permute({2, 0, 3, 1}).contiguous(), 1.4, dim)));
  }
  EXPECT_TRUE(
      at::equal(entmax(z.slice(3, 0, 6, 2), 1.4), entmax(z.slice(3, 0, 6, 2).clone(), 1.4)));
  EXPECT_TRUE(
      at::equal(entmax(normal({1, 1, 6}).expand({2, 3, 6}), 1.4)[1][2], entmax(normal({6}), 1.4)));
}

TEST(Entmax, EmptyTensorsGiveEmptyTensors) {
  EXPECT_EQ(entmax(at::empty({0, 5}), 1.3).sizes(), at::IntArrayRef({0, 5}));
  const auto [p, tau, support] = entmax_with_threshold(at::empty({2, 0}), 1.3);
  EXPECT_EQ(p.sizes(), at::IntArrayRef({2, 0}));
  EXPECT_TRUE(at::isinf(tau).all().item<bool>());
  EXPECT_EQ(support.sum().item<int64_t>(), 0);
  const at::Tensor z = at::empty({0, 5}).requires_grad_();
  entmax(z, at::ones({})).sum().backward();
  EXPECT_EQ(z.grad().sizes(), z.sizes());
}

TEST(Entmax, ZeroDimensionalScoresAreOneRow) {
  const at::Tensor z = at::scalar_tensor(3.5).requires_grad_();
  const at::Tensor alpha = at::scalar_tensor(1.5).requires_grad_();
  const at::Tensor p = entmax(z, alpha);
  EXPECT_EQ(p.item<float>(), 1);
  p.backward();
  EXPECT_EQ(z.grad().item<float>(), 0);
  EXPECT_EQ(alpha.grad().item<float>(), 0);
}

TEST(Entmax, HalfTypesAreComputedInFloat) {
  for (at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor z = (normal({6, 40}) * 3).to(type).requires_grad_();
    const at::Tensor alpha = at::scalar_tensor(1.37).requires_grad_();
    const at::Tensor p = entmax(z, alpha);
    EXPECT_TRUE(at::equal(p, entmax(z.to(at::kFloat), alpha).to(type)));
    EXPECT_EQ(std::get<1>(entmax_with_threshold(z, alpha)).scalar_type(), at::kFloat);
    (p * p).sum().backward();
    EXPECT_EQ(z.grad().scalar_type(), type);
    EXPECT_EQ(alpha.grad().scalar_type(), at::kFloat);
    EXPECT_TRUE(at::isfinite(z.grad()).all().item<bool>());
  }
}

TEST(Entmax, AlphaBroadcastsOverTheOtherDimensions) {
  const at::Tensor z = normal({2, 3, 4, 5});
  const at::Tensor head = values({1, 1.3, 2});
  const at::Tensor p = entmax(z, head);
  for (int64_t h = 0; h < 3; ++h) {
    EXPECT_TRUE(at::equal(p.select(1, h), entmax(z.select(1, h), head[h].item<double>())));
  }
  EXPECT_TRUE(at::equal(p, entmax(z, head.view({3, 1, 1}))));
  EXPECT_TRUE(at::equal(p, entmax(z, head.view({1, 3, 1, 1}))));

  const at::Tensor per_row = normal({2, 1, 4, 1}).abs() + 1;
  const at::Tensor rows = entmax(z, per_row);
  EXPECT_TRUE(at::equal(rows[1].select(1, 2), entmax(z[1].select(1, 2), per_row[1][0][2][0])));
  // Along another dimension than the last, a vector is an ordinary broadcast.
  const at::Tensor last = values({1.1, 1.2, 1.3, 1.4, 1.5});
  EXPECT_TRUE(at::equal(entmax(z, last, 2).select(3, 4), entmax(z.select(3, 4), 1.5, 2)));
}

TEST(Entmax, AlphaThatDoesNotFitIsAnError) {
  const at::Tensor z = normal({2, 3, 4, 5});
  EXPECT_THAT(message_of([&] {
                entmax(z, values({1.2, 1.3}));
              }),
              HasSubstr("alpha of shape [2] does not fit scores of shape [2, 3, 4, 5]"));
  EXPECT_THAT(message_of([&] { entmax(z, at::ones({2, 3, 4, 5})); }), HasSubstr("does not fit"));
  EXPECT_THAT(message_of([&] { entmax(z[0], at::ones({5})); }), HasSubstr("does not fit"));
  EXPECT_THAT(message_of([&] { entmax(z[0][0], at::ones({1, 4, 1})); }), HasSubstr("does not fit"));
  EXPECT_THAT(message_of([&] { entmax(z, 0.99); }),
              HasSubstr("alpha must be at least 1, but it is 0.99"));
  EXPECT_THAT(message_of([&] { entmax(z, std::nan("")); }), HasSubstr("but it is nan"));
  EXPECT_THAT(message_of([&] { entmax(z.to(at::kLong), 1.5); }), HasSubstr("floating point"));
  EXPECT_NE(message_of([&] { entmax(z, 1.5, 4); }), "no error");
}

TEST(Entmax, MaskedRowsHaveZeroGradients) {
  at::Tensor z = normal({3, 6});
  z[1].fill_(-kInfinity);
  z[2].slice(0, 3).fill_(-kInfinity);
  for (double a : {1.0, 1.3, 1.5, 2.0, 3.0}) {
    const at::Tensor scores = z.clone().requires_grad_();
    const at::Tensor alpha = at::scalar_tensor(a, at::kDouble).requires_grad_();
    const at::Tensor p = entmax(scores, alpha);
    EXPECT_TRUE(at::equal(p[1], at::zeros({6}, at::kDouble)));
    const auto first =
        torch::autograd::grad({(p * normal({3, 6}, 2)).sum()}, {scores, alpha}, {}, true, true);
    EXPECT_TRUE(at::equal(first[0][1], at::zeros({6}, at::kDouble)));
    EXPECT_TRUE(at::equal(first[0][2].slice(0, 3), at::zeros({3}, at::kDouble)));
    const auto second =
        torch::autograd::grad({first[0].square().sum() + first[1].square()}, {scores, alpha});
    EXPECT_TRUE(at::isfinite(second[0]).all().item<bool>());
    EXPECT_TRUE(at::isfinite(second[1]).item<bool>());
    EXPECT_TRUE(at::equal(second[0][1], at::zeros({6}, at::kDouble)));
  }
}

TEST(Entmax, ThreadsDoNotChangeABit) {
  const at::Tensor z = normal({4, 2, 333, 40}, 3, at::kFloat);
  const at::Tensor dp = normal({4, 2, 333, 40}, 4, at::kFloat);
  const auto run = [&](int threads) {
    at::set_num_threads(threads);
    const at::Tensor scores = z.clone().requires_grad_();
    const at::Tensor alpha = at::tensor({1.2f, 1.5f}).requires_grad_();
    const at::Tensor p = entmax(scores, alpha);
    (p * dp).sum().backward();
    return std::vector<at::Tensor>{p.detach(), scores.grad(), alpha.grad()};
  };
  const int before = at::get_num_threads();
  const auto one = run(1), two = run(2);
  at::set_num_threads(before);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(at::equal(one[i], two[i]));
}

class EntmaxGradient : public ::testing::TestWithParam<double> {};

TEST_P(EntmaxGradient, EqualsDifferences) {
  const double alpha = GetParam();
  const at::Tensor z = normal({3, 7});
  expect_gradients([&](const auto& x) { return entmax(x[0], alpha); }, {z});
  if (alpha == 1) return;  // differences would need α below 1
  const at::Tensor a = at::scalar_tensor(alpha, at::kDouble);
  expect_gradients([](const auto& x) { return entmax(x[0], x[1]); }, {z, a}, 1e-6, 1e-6);
}

TEST_P(EntmaxGradient, SecondEqualsDifferences) {
  const double alpha = GetParam();
  const at::Tensor z = normal({3, 7});
  expect_second_gradients([&](const auto& x) { return entmax(x[0], alpha); }, {z});
  if (alpha == 1) return;
  const at::Tensor a = at::scalar_tensor(alpha, at::kDouble);
  expect_second_gradients([](const auto& x) { return entmax(x[0], x[1]); }, {z, a}, 1e-5, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Alphas, EntmaxGradient,
                         ::testing::Values(1, 1.01, 1.2, 1.5, 1.75, 1.99, 2, 2.5));

TEST(EntmaxGradients, PerHeadAndPerRow) {
  const at::Tensor z = normal({2, 3, 2, 4});
  const auto f = [](const auto& x) { return entmax(x[0], x[1]); };
  expect_gradients(f, {z, values({1.2, 1.5, 1.8})});
  expect_gradients(f, {z, normal({2, 1, 2, 1}).abs() * 0.3 + 1.1});
  expect_second_gradients(f, {z, values({1.2, 1.5, 1.8})}, 1e-5, 1e-5);
  const auto along = [](const auto& x) { return entmax(x[0], x[1], 1); };
  expect_gradients(along, {normal({2, 5, 3}), values({1.3, 1.6, 1.9})});
}

// At α = 1 the derivative in α is the limit from above; the second derivative continues it.
TEST(EntmaxGradients, AlphaOneIsTheLimitFromAbove) {
  const at::Tensor z = normal({2, 6});
  const auto second = [&](double value) {
    const at::Tensor scores = z.clone().requires_grad_();
    const at::Tensor alpha = at::scalar_tensor(value, at::kDouble).requires_grad_();
    const auto first = torch::autograd::grad({(entmax(scores, alpha) * normal({2, 6}, 9)).sum()},
                                             {scores, alpha}, {}, true, true);
    const auto again =
        torch::autograd::grad({first[0].square().sum() + first[1].square()}, {scores, alpha});
    return std::vector<at::Tensor>{first[0], first[1], again[0], again[1]};
  };
  const auto at_one = second(1), above = second(1 + 1e-9);
  for (size_t i = 0; i < at_one.size(); ++i) expect_close(at_one[i], above[i], 1e-6);
}

TEST(EntmaxGradients, WorkThroughFloatAlphaAndDoubleScores) {
  const at::Tensor z = normal({2, 5}).requires_grad_();
  const at::Tensor alpha = at::scalar_tensor(1.5f, at::kFloat).requires_grad_();
  entmax(z, alpha).square().sum().backward();
  EXPECT_EQ(alpha.grad().scalar_type(), at::kFloat);
  EXPECT_EQ(z.grad().scalar_type(), at::kDouble);
}

TEST(EntmaxGradients, OnlyWhatIsAskedFor) {
  const at::Tensor z = normal({2, 5});
  const at::Tensor alpha = at::scalar_tensor(1.5, at::kDouble).requires_grad_();
  entmax(z, alpha).square().sum().backward();
  EXPECT_TRUE(alpha.grad().defined());
  EXPECT_FALSE(entmax(z, 1.5).requires_grad());
  EXPECT_FALSE(std::get<1>(entmax_with_threshold(z.clone().requires_grad_(), 1.5)).requires_grad());
}

// The way TorchScript and torch.ops call it: by name, with boxed values and default arguments.
std::vector<c10::IValue> call_by_name(const std::string& name, const std::string& overload,
                                      std::vector<c10::IValue> stack) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
  op.schema().checkAndNormalizeInputs(stack, {});
  op.callBoxed(&stack);
  return stack;
}

TEST(EntmaxOperator, IsRegisteredByName) {
  const at::Tensor z = normal({4, 5});
  const at::Tensor alpha = at::scalar_tensor(1.3, at::kDouble);
  EXPECT_TRUE(
      at::equal(call_by_name("filigree::entmax", "", {z, alpha})[0].toTensor(), entmax(z, alpha)));
  EXPECT_TRUE(at::equal(call_by_name("filigree::entmax", "Scalar", {z, 1.5, 0})[0].toTensor(),
                        entmax(z, 1.5, 0)));
  const auto all = call_by_name("filigree::entmax_with_threshold", "Scalar", {z, 1.5});
  EXPECT_TRUE(at::equal(all[2].toTensor(), std::get<2>(entmax_with_threshold(z, 1.5))));
}

}  // namespace
}  // namespace filigree
