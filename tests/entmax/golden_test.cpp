// The kernels against an independent solver of 80 digits: 24 inputs at 13 values of α.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "filigree/base/files.h"
#include "filigree/entmax/kernels.h"
#include "tests/entmax/targets.h"

namespace filigree {
namespace {

struct Case {
  std::string name;
  double alpha, threshold, dalpha;
  int64_t support, support_double;
  bool edge, huge;
  std::vector<double> z, g, p, dz;
};

std::vector<Case> read_cases(const std::string& path) {
  const auto numbers = [](const nlohmann::json& list) {
    std::vector<double> values;
    for (const auto& v : list) {
      values.push_back(v.is_string() ? -std::numeric_limits<double>::infinity() : v.get<double>());
    }
    return values;
  };
  std::vector<Case> cases;
  const auto document = nlohmann::json::parse(read_file(path));
  for (const auto& input : document["inputs"]) {
    for (const auto& c : input["cases"]) {
      const double alpha = c["alpha"];
      const std::string name = input["input"];
      const bool huge = name.starts_with("huge") || name == "one_huge" || name == "two_far" ||
                        name == "mask_1e9" || name == "ten_s100";
      cases.push_back({name + " alpha " + std::to_string(alpha), alpha,
                       c[alpha == 1 ? "lse" : "tau"], c["dalpha"], c["support"],
                       c["support_double"], c["edge"], huge, numbers(input["z"]),
                       numbers(input["g"]), numbers(c["p"]), numbers(c["dz"])});
    }
  }
  return cases;
}

// The largest difference, in units of max(1, largest expected magnitude).
template <typename T>
double relative_error(const std::vector<T>& actual, const std::vector<double>& expected) {
  double scale = 1, worst = 0;
  for (double e : expected) scale = std::max(scale, std::abs(e));
  for (size_t i = 0; i < expected.size(); ++i) {
    const double error = std::abs(actual[i] - expected[i]) / scale;
    worst = error <= worst ? worst : error;  // keeps a NaN
  }
  return worst;
}

template <typename T>
struct Result {
  std::vector<T> p, dz;
  T threshold;
  int64_t support;
  double dalpha;
};

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
  const entmax::Rows rows{copies, n, n};
  entmax::forward(rows, z.data(), c.alpha, p.data(), thresholds.data(), supports.data());
  entmax::backward(rows, p.data(), g.data(), c.alpha, dz.data(), dalphas.data());
  return {std::vector<T>(p.begin() + last, p.end()), std::vector<T>(dz.begin() + last, dz.end()),
          thresholds.back(), supports.back(), dalphas.back()};
}

class EntmaxGolden : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = FILIGREE_SHARED_DIR "/golden/entmax/golden.json";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no golden vectors at " << path;
    cases = read_cases(path);
    ASSERT_EQ(cases.size(), 312u);
  }
  std::vector<Case> cases;
};

void expect_double(const Case& c, const Result<double>& r) {
  EXPECT_LT(relative_error(r.p, c.p), 1e-12);
  EXPECT_NEAR(r.threshold, c.threshold, 1e-12 * std::max(1.0, std::abs(c.threshold)));
  // Entries near the smallest number may round either way.
  EXPECT_LE(r.support, c.support);
  EXPECT_GE(r.support, std::count_if(c.p.begin(), c.p.end(), [](double p) { return p > 1e-300; }));
  if (c.edge) return;  // gradients are one-sided there
  EXPECT_LT(relative_error(r.dz, c.dz), 1e-11);
  EXPECT_NEAR(r.dalpha, c.dalpha, 1e-10 * std::max(1.0, std::abs(c.dalpha)));
}

void expect_float(const Case& c, const Result<float>& r) {
  EXPECT_LT(relative_error(r.p, c.p), 2e-6);
  EXPECT_NEAR(r.threshold, c.threshold, 2e-6 * std::max(1.0, std::abs(c.threshold)));
  // Above 2 the gradients grow without bound towards the threshold, and so does what rounding p
  // costs.
  if (c.edge || c.alpha > 2) return;
  EXPECT_LT(relative_error(r.dz, c.dz), 2e-5);
  EXPECT_NEAR(r.dalpha, c.dalpha, 2e-5 * std::max(1.0, std::abs(c.dalpha)));
}

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
