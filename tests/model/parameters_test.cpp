#include "filigree/model/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "tests/support/temporary_folder.h"

namespace filigree::model {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;

const std::vector<ParameterSpec> kSpecs = {{"a", {2, 3}}, {"b", {4}}};

std::string failure_of(const std::string& path, const Parameters& parameters) {
  try {
    load_parameters(path, parameters);
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

TEST(Parameters, AreViewsOfOneBuffer) {
  Parameters parameters(kSpecs);
  EXPECT_EQ(parameters.count(), 10);
  parameters.values().copy_(torch::arange(10));
  EXPECT_EQ(parameters["a"][1][2].item<float>(), 5);
  EXPECT_EQ(parameters["b"][0].item<float>(), 6);
  EXPECT_THROW(parameters["c"], c10::Error);
}

TEST(Parameters, ReplicasShareValuesButNotGradients) {
  Parameters first(kSpecs);
  Parameters second = first.replica();
  first.require_gradients();
  second.require_gradients();
  first.values().fill_(2);
  (first["b"].sum() * 3).backward();
  (second["b"] * second["b"]).sum().backward();
  EXPECT_EQ(first.gradients()[9].item<float>(), 3);
  EXPECT_EQ(second.gradients()[9].item<float>(), 4);
  EXPECT_EQ(first.gradients()[0].item<float>(), 0);
}

TEST(Parameters, AFileKeepsThem) {
  const TemporaryFolder folder;
  const Parameters written(kSpecs), read(kSpecs);
  written.values().copy_(torch::randn({10}));
  save_parameters(folder / "x", written);
  load_parameters(folder / "x", read);
  EXPECT_TRUE(torch::equal(read.values(), written.values()));
  save_parameters(folder / "y", written, written.values() * 2);
  load_parameters(folder / "y", read);
  EXPECT_TRUE(torch::equal(read.values(), written.values() * 2));
}

TEST(Parameters, AFileOfAnotherModelIsAnErrorAndChangesNothing) {
  const TemporaryFolder folder;
  save_parameters(folder / "x", Parameters(kSpecs));
  const auto expect = [&](const std::vector<ParameterSpec>& specs, const std::string& message) {
    const Parameters parameters(specs);
    parameters.values().fill_(7);
    EXPECT_THAT(failure_of(folder / "x", parameters), HasSubstr(message));
    EXPECT_TRUE((parameters.values() == 7).all().item<bool>());
  };
  expect({{"a", {2, 3}}, {"b", {4}}, {"c", {1}}}, "\"c\" is missing");
  expect({{"a", {3, 2}}, {"b", {4}}}, "\"a\" has shape [2, 3], expected [3, 2]");
  expect({{"a", {2, 3}}}, "unknown tensor \"b\"");
}

}  // namespace
}  // namespace filigree::model
