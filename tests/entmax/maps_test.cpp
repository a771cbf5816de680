// The maps in plain tensor operations; the Python tests hold them against bisection.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "filigree/entmax/any_alpha.h"
#include "filigree/entmax/budget.h"
#include "filigree/entmax/entmax.h"
#include "filigree/entmax/normmax.h"
#include "tests/gradcheck.h"

namespace filigree {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor normal(at::IntArrayRef shape) {
  at::Generator generator = at::detail::createCPUGenerator(3);
  return at::randn(shape, generator, at::dtype(at::kDouble));
}

at::Tensor column(std::vector<double> values) {
  return at::tensor(values, at::dtype(at::kDouble)).unsqueeze(-1);
}

TEST(Maps, BelowOneEntmaxSolvesItsEquation) {
  const at::Tensor alpha = column({0.2, 0.5, 0.9, 0.999});
  const at::Tensor z = 3 * normal({4, 20}), p = entmax_any_alpha(z, alpha);
  EXPECT_TRUE(at::allclose(p.sum(-1), at::ones({4}, at::kDouble)));
  // p^{α−1} − (α−1) z is the same −τ for all entries of a row.
  const at::Tensor threshold = (alpha - 1) * z - p.pow(alpha - 1);
  EXPECT_TRUE(at::allclose(threshold, threshold.narrow(-1, 0, 1).expand_as(z)));
}

TEST(Maps, FromOneUpEntmaxIsTheSame) {
  const at::Tensor z = normal({3, 9}), alpha = column({1, 1.5, 2.5});
  EXPECT_TRUE(at::equal(entmax_any_alpha(z, alpha), entmax(z, alpha)));
  EXPECT_TRUE(at::equal(entmax_any_alpha(z, 1.2), entmax(z, 1.2)));
}

TEST(Maps, NormmaxSolvesItsEquation) {
  const at::Tensor alpha = column({1.1, 1.5, 2, 6});
  const at::Tensor z = 2 * normal({4, 20}), p = normmax(z, alpha);
  EXPECT_TRUE(at::allclose(p.sum(-1), at::ones({4}, at::kDouble)));
  // On the support, z − ∂‖p‖_α is the same for all entries of a row, and largest there.
  const at::Tensor norm = p.pow(alpha).sum(-1, true).pow(1 / alpha);
  const at::Tensor residual = z - (p / norm).pow(alpha - 1);
  const at::Tensor top = residual.amax(-1, true).expand_as(z);
  EXPECT_TRUE(at::allclose(at::where(p > 0, residual, top), top, 0, 1e-9));
}

TEST(Maps, BudgetKeepsItsTotalWithinBounds) {
  const at::Tensor total = column({0.5, 2, 3.3, 50}), z = 2 * normal({4, 6});
  const at::Tensor p = budget(z, total);
  EXPECT_TRUE(at::allclose(p.sum(-1, true), total.clamp_max(6)));
  EXPECT_TRUE(((p >= 0) & (p <= 1)).all().item<bool>());
  const at::Tensor one = at::where((p > 0) & (p < 1), z - p, at::full_like(z, -kInfinity));
  const at::Tensor tau = one.amax(-1, true);
  EXPECT_TRUE(at::allclose(p.narrow(0, 0, 3), (z - tau).clamp(0, 1).narrow(0, 0, 3)));
}

TEST(Maps, MasksAndNanStayWhereTheyAre) {
  const at::Tensor z =
      at::tensor({-kInfinity, -kInfinity, 1.0, -kInfinity, NAN, 0.0}, at::dtype(at::kDouble))
          .view({3, 2});
  for (const at::Tensor& p : {entmax_any_alpha(z, 0.5), normmax(z, 2.0), budget(z, 1.0)}) {
    EXPECT_TRUE(at::equal(p.narrow(0, 0, 2),
                          at::tensor({0.0, 0.0, 1.0, 0.0}, at::dtype(at::kDouble)).view({2, 2})));
    EXPECT_TRUE(p.select(0, 2).isnan().all().item<bool>());
  }
}

TEST(Maps, GradientsAreRight) {
  const at::Tensor z = normal({3, 5});
  const auto with = [](auto map) {
    return [map](const std::vector<at::Tensor>& in) { return map(in[0], in[1], -1); };
  };
  using Map = at::Tensor (*)(const at::Tensor&, const at::Tensor&, int64_t);
  expect_gradients(with(static_cast<Map>(entmax_any_alpha)), {z, column({0.3, 0.8, 1.4})});
  expect_gradients(with(static_cast<Map>(normmax)), {z, column({1.3, 2, 4})});
  expect_gradients(with(static_cast<Map>(budget)), {z, column({0.7, 1.6, 3.2})});
}

}  // namespace
}  // namespace filigree
