// What the loss may be given: dimensions, types, masks, ignored rows, and what it refuses.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "filigree/entmax/loss.h"
#include "tests/entmax/loss_tensors.h"

namespace filigree {
namespace {

using ::testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kAlphas[] = {1, 1 + 1e-6, 1.1, 1.5, 1.9, 2, 3};

TEST(EntmaxLoss, AnyDimensionOfTheLogitsHoldsTheClasses) {
  const at::Tensor z = normal({3, 4, 5, 6}) * 2;
  for (int64_t dim = -4; dim < 4; ++dim) {
    const at::Tensor last = z.movedim(dim, -1).contiguous();
    std::vector<int64_t> shape = last.sizes().vec();
    const int64_t classes = shape.back();
    shape.pop_back();
    const at::Tensor y = random_targets(shape, classes);
    EXPECT_TRUE(at::equal(entmax_loss(z, y, 1.4, dim, at::Reduction::None),
                          entmax_loss(last, y, 1.4, -1, at::Reduction::None)));
  }
  const at::Tensor row = normal({6});
  EXPECT_EQ(entmax_loss(row, targets({2})[0], 1.5).dim(), 0);
  EXPECT_TRUE(at::equal(rows_loss(z.slice(3, 0, 6, 2), random_targets({3, 4, 5}, 3), 1.4),
                        rows_loss(z.slice(3, 0, 6, 2).clone(), random_targets({3, 4, 5}, 3), 1.4)));
}

TEST(EntmaxLoss, TargetsOfAnyIntegerType) {
  const at::Tensor z = normal({3, 4});
  const at::Tensor y = targets({3, 0, 2});
  for (const auto type : {at::kInt, at::kShort, at::kChar, at::kByte}) {
    EXPECT_TRUE(at::equal(rows_loss(z, y.to(type), 1.5), rows_loss(z, y, 1.5)));
  }
}

TEST(EntmaxLoss, HalfTypesAreComputedInFloat) {
  const at::Tensor y = random_targets({6}, 40);
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    const at::Tensor z = (normal({6, 40}) * 3).to(type).requires_grad_();
    const at::Tensor alpha = at::scalar_tensor(1.37).requires_grad_();
    const at::Tensor loss = entmax_loss(z, y, alpha);
    EXPECT_TRUE(at::equal(loss, entmax_loss(z.to(at::kFloat), y, alpha).to(type)));
    loss.backward();
    EXPECT_EQ(z.grad().scalar_type(), type);
    EXPECT_EQ(alpha.grad().scalar_type(), at::kFloat);
    EXPECT_TRUE(at::isfinite(z.grad()).all().item<bool>());
  }
}

TEST(EntmaxLoss, MaskedClassesTakeNoPart) {
  at::Tensor z = normal({2, 8}) * 2;
  z.slice(1, 5, 8).fill_(-kInfinity);
  const at::Tensor y = targets({0, 4});
  for (const double alpha : kAlphas) {
    for (const double smoothing : {0.0, 0.2}) {
      const at::Tensor full = z.clone().requires_grad_();
      const at::Tensor cut = z.slice(1, 0, 5).clone().requires_grad_();
      const at::Tensor a = rows_loss(full, y, alpha, smoothing);
      const at::Tensor b = rows_loss(cut, y, alpha, smoothing);
      expect_close(a, b, 1e-12);
      a.sum().backward();
      b.sum().backward();
      expect_close(full.grad().slice(1, 0, 5), cut.grad(), 1e-12);
      EXPECT_TRUE(at::equal(full.grad().slice(1, 5, 8), at::zeros({2, 3}, at::kDouble)));
    }
  }
}

TEST(EntmaxLoss, MaskedTargetIsInfinitelyBadAndAMaskedRowIsNot) {
  at::Tensor z = normal({3, 5}, 1, at::kFloat);
  z[0][1] = -kInfinity;
  z[1].fill_(-kInfinity);
  z[2][0] = std::nan("");
  for (const double alpha : {1.0, 1.3, 1.5, 2.0, 3.0}) {
    for (const double smoothing : {0.0, 0.2}) {
      const at::Tensor scores = z.clone().requires_grad_();
      const at::Tensor a = at::scalar_tensor(alpha).requires_grad_();
      const at::Tensor loss =
          entmax_loss(scores, targets({1, 1, 1}), a, -1, at::Reduction::None, -100, smoothing);
      EXPECT_EQ(loss[0].item<double>(), kInfinity);
      EXPECT_EQ(loss[1].item<double>(), 0);
      EXPECT_TRUE(std::isnan(loss[2].item<double>()));
      loss.sum().backward();
      EXPECT_TRUE(at::isfinite(scores.grad()[0]).all().item<bool>());
      EXPECT_TRUE(at::equal(scores.grad()[1], at::zeros({5})));
      EXPECT_TRUE(at::isnan(scores.grad()[2]).all().item<bool>());
    }
  }
}

TEST(EntmaxLoss, IgnoredRowsAreNotLookedAt) {
  at::Tensor z = normal({3, 5});
  z[1].fill_(std::nan(""));
  const at::Tensor scores = z.clone().requires_grad_();
  const at::Tensor alpha = at::scalar_tensor(1.5, at::kDouble).requires_grad_();
  const at::Tensor loss =
      entmax_loss(scores, targets({1, 4, 2}), alpha, -1, at::Reduction::Mean, 4);
  expect_close(loss.detach(),
               rows_loss(z.index_select(0, targets({0, 2})), targets({1, 2}), 1.5).mean(), 1e-14);
  loss.backward();
  EXPECT_TRUE(at::equal(scores.grad()[1], at::zeros({5}, at::kDouble)));
  EXPECT_TRUE(std::isfinite(alpha.grad().item<double>()));
}

TEST(EntmaxLoss, AlphaMayDifferFromRowToRow) {
  const at::Tensor z = normal({3, 4, 6}) * 2;
  const at::Tensor y = random_targets({3, 4}, 6);
  const at::Tensor alpha = at::tensor({1.0, 1.2, 1.5, 2.0}, at::kDouble);
  const at::Tensor loss = entmax_loss(z, y, alpha.view({4, 1}), -1, at::Reduction::None);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(at::equal(loss.select(1, i), rows_loss(z.select(1, i).contiguous(), y.select(1, i),
                                                       alpha[i].item<double>())));
  }
  // Along another dimension alpha has size 1 there.
  const at::Tensor middle = entmax_loss(z.transpose(1, 2), y, alpha, 1, at::Reduction::None);
  EXPECT_TRUE(at::equal(middle, loss));
}

TEST(EntmaxLoss, ArgumentsThatDoNotFitAreErrors) {
  const at::Tensor z = normal({2, 3, 4});
  const at::Tensor y = random_targets({2, 3}, 3);
  EXPECT_THAT(message_of([&] {
                entmax_loss(z, random_targets({2, 4}, 3), 1.5);
              }),
              HasSubstr("target of shape [2, 4] does not fit logits of shape [2, 3, 4] with the "
                        "classes along dimension 2: it must have shape [2, 3]; with the classes "
                        "along dimension 1, as in CrossEntropyLoss, pass dim=1"));
  const std::string message = message_of([&] { entmax_loss(z, random_targets({2}, 3), 1.5); });
  EXPECT_THAT(message, HasSubstr("must have shape [2, 3]"));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("dim=1")));
  EXPECT_THAT(message_of([&] { entmax_loss(z, y + 5, 1.5); }),
              HasSubstr("is outside the 4 classes and is not ignore_index -100"));
  EXPECT_THAT(message_of([&] {
                entmax_loss(z, at::full({2, 3}, -7, at::kLong), 1.5);
              }),
              HasSubstr("target -7 is outside the 4 classes"));
  EXPECT_THAT(message_of([&] { entmax_loss(z, y.to(at::kDouble), 1.5); }), HasSubstr("integers"));
  EXPECT_THAT(message_of([&] { entmax_loss(z.to(at::kLong), y, 1.5); }),
              HasSubstr("floating point"));
  EXPECT_THAT(message_of([&] { entmax_loss(z, y, 0.9); }), HasSubstr("alpha must be at least 1"));
  EXPECT_THAT(message_of([&] {
                entmax_loss(z, y, at::ones({2, 3, 4}));
              }),
              HasSubstr("does not fit"));
  EXPECT_THAT(message_of([&] { entmax_loss(z, y, 1.5, -1, 3); }), HasSubstr("reduction"));
  EXPECT_THAT(message_of([&] { entmax_loss(z, y, 1.5, -1, 1, -100, 1.1); }),
              HasSubstr("label_smoothing must be in [0, 1]"));
  EXPECT_THAT(message_of([&] { entmax_loss(z[0][0][0], y[0][0], 1.5); }), HasSubstr("dimension"));
}

}  // namespace
}  // namespace filigree
