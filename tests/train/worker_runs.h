// Trainings by several processes of the real program, and what came of them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace filigree::test {

using Variables = std::map<std::string, std::string>;

/// Calls `start` with variables added to the environment, as torchrun or SLURM add theirs.
template <typename Start>
std::unique_ptr<Process> with_variables(const Variables& variables, Start&& start) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  auto process = start();
  for (const auto& [name, value] : variables) unsetenv(name.c_str());
  return process;
}

/// The numbers of metrics.jsonl that a training decides.
inline std::vector<double> curve(const std::filesystem::path& model) {
  std::vector<double> numbers;
  std::istringstream lines(content_of(model / "metrics.jsonl"));
  for (std::string line; std::getline(lines, line);) {
    const auto json = nlohmann::json::parse(line);
    for (const char* key : {"step", "loss", "gradient_norm", "perplexity"}) {
      if (json.contains(key)) numbers.push_back(json[key].get<double>());
    }
  }
  return numbers;
}

/// Up to rounding.
inline void expect_same_curve(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  ASSERT_GT(got.size(), 10);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-4 * expected[i]);
}

}  // namespace filigree::test
