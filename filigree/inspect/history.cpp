#include "filigree/inspect/history.h"

#include <vector>

#include "filigree/base/files.h"
#include "filigree/model/config.h"

namespace filigree::inspect {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostSteps = 300;

// The validations that have α, every n-th of them when there are many, and the last.
std::vector<Json> validations(const std::filesystem::path& file) {
  std::vector<Json> all;
  for (const std::string& line : read_lines(file)) {
    Json report = Json::parse(line, nullptr, false);
    if (report.is_object() && report.contains("alpha") && report.contains("step")) {
      all.push_back(std::move(report));
    }
  }
  if (all.size() <= kMostSteps) return all;
  std::vector<Json> some;
  const size_t stride = (all.size() + kMostSteps - 1) / kMostSteps;
  for (size_t i = (all.size() - 1) % stride; i < all.size(); i += stride) {
    some.push_back(std::move(all[i]));
  }
  return some;
}

}  // namespace

Json alpha_history(const std::filesystem::path& model_directory) {
  const auto file = model_directory / "metrics.jsonl";
  if (!std::filesystem::exists(file)) return nullptr;
  Json history = {{"steps", Json::array()}, {"alpha", Json::object()}};
  for (const Json& report : validations(file)) {
    history["steps"].push_back(report["step"]);
    for (const auto block : model::kAttentionBlocks) {
      if (!report["alpha"].contains(name_of(block))) continue;
      const Json& layers = report["alpha"][name_of(block)];
      Json& of_block = history["alpha"][name_of(block)];
      for (size_t l = 0; l < layers.size(); ++l) {
        for (size_t h = 0; h < layers[l].size(); ++h) of_block[l][h].push_back(layers[l][h]);
      }
    }
  }
  return history["steps"].empty() ? Json() : history;
}

}  // namespace filigree::inspect
