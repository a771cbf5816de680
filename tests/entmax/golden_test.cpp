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

template <typename T>
Result<T> run(const Case& c) {
  const std::vector<T> z(c.z.begin(), c.z.end()), g(c.g.begin(), c.g.end());
  const int64_t n = static_cast<int64_t>(z.size());
  Result<T> r{std::vector<T>(n), std::vector<T>(n), 0, 0, 0};
  entmax::forward({1, n, n}, z.data(), c.alpha, r.p.data(), &r.threshold, &r.support);
  entmax::backward({1, n, n}, r.p.data(), g.data(), c.alpha, r.dz.data(), &r.dalpha);
  return r;
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

TEST_F(EntmaxGolden, DoubleIsRightAtEveryAlpha) {
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const auto r = run<double>(c);
    EXPECT_LT(relative_error(r.p, c.p), 1e-12);
    // Recomputing the rounded threshold loses what the scale of the scores costs.
    EXPECT_NEAR(r.threshold, c.threshold, 1e-12 * std::max(1.0, std::abs(c.threshold)));
    if (c.edge) continue;  // gradients are one-sided there
    EXPECT_LT(relative_error(r.dz, c.dz), 1e-11);
    EXPECT_NEAR(r.dalpha, c.dalpha, 1e-10 * std::max(1.0, std::abs(c.dalpha)));
    // Entries near the smallest number may round either way.
    EXPECT_LE(r.support, c.support);
    const auto normal = std::count_if(c.p.begin(), c.p.end(), [](double p) { return p > 1e-300; });
    EXPECT_GE(r.support, normal);
  }
}

TEST_F(EntmaxGolden, FloatIsRightAtEveryAlpha) {
  for (const Case& c : cases) {
    if (c.name.starts_with("near_tie")) continue;  // its scores are no floats
    SCOPED_TRACE(c.name);
    const auto r = run<float>(c);
    EXPECT_LT(relative_error(r.p, c.p), 2e-6);
    if (c.edge || c.alpha > 2) continue;
    EXPECT_LT(relative_error(r.dz, c.dz), 2e-5);
    EXPECT_NEAR(r.dalpha, c.dalpha, 2e-5 * std::max(1.0, std::abs(c.dalpha)));
  }
}

}  // namespace
}  // namespace filigree
