#include "filigree/entmax/spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "filigree/entmax/entmax.h"  // both interfaces in one program

namespace filigree {
namespace {

using ::testing::ElementsAre;

TEST(EntmaxSpans, TransformRowsAndTakeGradients) {
  const std::vector<double> z = {2, 1.5, 0, 1, 1, -5};
  std::vector<double> p(6), dz(6), dalpha(2);
  entmax_kernels::forward<double>(z, 3, 2, p);
  EXPECT_THAT(p, ElementsAre(0.75, 0.25, 0, 0.5, 0.5, 0));
  const std::vector<double> dp = {1, 0, 0, 1, 0, 0};
  entmax_kernels::backward<double>(p, dp, 3, 2, dz, dalpha);
  EXPECT_THAT(dz, ElementsAre(0.5, -0.5, 0, 0.5, -0.5, 0));
  EXPECT_EQ(dalpha[1], 0);  // ties stay ties
}

TEST(EntmaxSpans, SayWhatDoesNotFit) {
  std::vector<float> z(6), p(5);
  const auto message = [&](std::size_t size, double alpha) -> std::string {
    try {
      entmax_kernels::forward<float>(z, size, alpha, p);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(4, 1.5), "entmax: 6 entries are not whole rows of 4");
  EXPECT_EQ(message(3, 1.5), "entmax: p has 5 entries where 6 are needed");
  EXPECT_THAT(message(3, 0.5), ::testing::HasSubstr("alpha must be at least 1"));
}

TEST(EntmaxSpans, NoRowsAreNoWork) {
  entmax_kernels::forward<float>({}, 3, 1.5, {});
  entmax_kernels::forward<float>({}, 0, 1.5, {});
}

}  // namespace
}  // namespace filigree
