// The kernels against an independent solver.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "filigree/entmax/kernels.h"
#include "tests/entmax/golden_cases.h"
#include "tests/entmax/targets.h"

namespace filigree {
namespace {

// A lone row and a row of a whole block take different ways through the kernels; `copies` chooses.
template <typename T>
Result<T> run(const Case& c, int64_t copies) {
  const int64_t n = static_cast<int64_t>(c.z.size()), last = (copies - 1) * n;
  std::vector<T> z, g;
  for (int64_t i = 0; i < copies; ++i) {
    z.insert(z.end(), c.z.begin(), c.z.end());
    g.insert(g.end(), c.g.begin(), c.g.end());
  }
  std::vector<T> p(copies * n), dz(copies * n), thresholds(copies);
  std::vector<int64_t> supports(copies);
  std::vector<double> dalphas(copies);
  const entmax_kernels::Rows rows{copies, n, n};
  entmax_kernels::forward(rows, z.data(), c.alpha, p.data(), thresholds.data(), supports.data());
  entmax_kernels::backward(rows, p.data(), g.data(), c.alpha, dz.data(), dalphas.data());
  return {std::vector<T>(p.begin() + last, p.end()), std::vector<T>(dz.begin() + last, dz.end()),
          thresholds.back(), supports.back(), dalphas.back()};
}

using EntmaxGolden = GoldenCases;

TEST_F(EntmaxGolden, RightAtEveryAlphaOnEveryInstructionSet) {
  for (int64_t target : hwy::SupportedAndGeneratedTargets()) {
    const OnTarget on(target);
    for (int64_t copies : {1, 16}) {
      for (const Case& c : cases) {
        SCOPED_TRACE(c.name + ", " + std::to_string(copies) + " rows, " + hwy::TargetName(target));
        expect_double(c, run<double>(c, copies));
        if (c.name.starts_with("near_tie")) continue;  // its scores are no floats
        expect_float(c, run<float>(c, copies));
      }
    }
  }
}

}  // namespace
}  // namespace filigree
