// Values of an independent solver of 80 digits: 24 inputs at 13 values of α.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "filigree/base/files.h"

namespace filigree {

struct Case {
  std::string name;
  double alpha, threshold, dalpha;
  int64_t support, support_double;
  bool edge, huge;
  std::vector<double> z, g, p, dz;
};

inline std::vector<Case> read_cases(const std::string& path) {
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

/// The largest difference, in units of max(1, largest expected magnitude).
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

/// What an implementation makes of a case.
template <typename T>
struct Result {
  std::vector<T> p, dz;
  T threshold;
  int64_t support;
  double dalpha;
};

inline void expect_double(const Case& c, const Result<double>& r) {
  EXPECT_LT(relative_error(r.p, c.p), 1e-12);
  EXPECT_NEAR(r.threshold, c.threshold, 1e-12 * std::max(1.0, std::abs(c.threshold)));
  // Entries near the smallest number may round either way.
  EXPECT_LE(r.support, c.support);
  EXPECT_GE(r.support, std::count_if(c.p.begin(), c.p.end(), [](double p) { return p > 1e-300; }));
  if (c.edge) return;  // gradients are one-sided there
  EXPECT_LT(relative_error(r.dz, c.dz), 1e-11);
  EXPECT_NEAR(r.dalpha, c.dalpha, 1e-10 * std::max(1.0, std::abs(c.dalpha)));
}

inline void expect_float(const Case& c, const Result<float>& r) {
  EXPECT_LT(relative_error(r.p, c.p), 2e-6);
  EXPECT_NEAR(r.threshold, c.threshold, 2e-6 * std::max(1.0, std::abs(c.threshold)));
  // Above 2 the gradients grow without bound towards the threshold, and so does what rounding p
  // costs.
  if (c.edge || c.alpha > 2) return;
  EXPECT_LT(relative_error(r.dz, c.dz), 2e-5);
  EXPECT_NEAR(r.dalpha, c.dalpha, 2e-5 * std::max(1.0, std::abs(c.dalpha)));
}

/// Skips where the file is absent.
class GoldenCases : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = FILIGREE_SHARED_DIR "/golden/entmax/golden.json";
    if (!std::filesystem::exists(path)) GTEST_SKIP() << "no golden vectors at " << path;
    cases = read_cases(path);
    ASSERT_EQ(cases.size(), 312u);
  }
  std::vector<Case> cases;
};

}  // namespace filigree
