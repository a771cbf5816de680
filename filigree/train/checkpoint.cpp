#include "filigree/train/checkpoint.h"

#include <torch/torch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/log.h"
#include "filigree/model/model_directory.h"
#include "filigree/model/safetensors.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kPrefix = "step_";
constexpr const char* kUnfinished = ".tmp";
constexpr const char* kOptimizerFile = "optimizer.safetensors";
constexpr const char* kProgressFile = "trainer.json";

std::string to_json(const Progress& p) {
  return Json{{"step", p.step},
              {"epoch", p.epoch},
              {"batch", p.batch},
              {"target_tokens", p.target_tokens},
              {"seconds", p.seconds},
              {"best_score", p.best_score ? Json(*p.best_score) : Json()},
              {"best_step", p.best_step},
              {"validations_without_gain", p.validations_without_gain},
              {"seed", p.seed},
              {"data", p.data}}
             .dump(2) +
         "\n";
}

Progress progress_from_json(const fs::path& file) {
  try {
    const Json json = Json::parse(read_file(file));
    Progress p;
    json.at("step").get_to(p.step);
    json.at("epoch").get_to(p.epoch);
    json.at("batch").get_to(p.batch);
    json.at("target_tokens").get_to(p.target_tokens);
    json.at("seconds").get_to(p.seconds);
    if (!json.at("best_score").is_null()) p.best_score = json.at("best_score").get<double>();
    json.at("best_step").get_to(p.best_step);
    json.at("validations_without_gain").get_to(p.validations_without_gain);
    json.at("seed").get_to(p.seed);
    json.at("data").get_to(p.data);
    return p;
  } catch (const Json::exception&) {
    throw Error("{}: damaged: a field is missing or of the wrong type", file.string());
  }
}

// The checkpoints, newest first.
std::vector<fs::path> checkpoints(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && !name.ends_with(kUnfinished)) found.push_back(entry.path());
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

void write_optimizer(const fs::path& file, const OptimizerState& state) {
  std::vector<model::TensorToWrite> tensors;
  auto add = [&](const char* name, const at::Tensor& tensor) {
    if (tensor.defined())
      tensors.push_back({name, "F32", {tensor.numel()}, tensor.data_ptr<float>()});
  };
  add("first_moment", state.first_moment);
  add("second_moment", state.second_moment);
  add("average", state.average);
  model::write_safetensors(file, tensors);
}

void read_optimizer(const fs::path& file, OptimizerState& state) {
  const model::SafetensorsFile content(file);
  auto read = [&](const char* name, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    const auto found = content.tensors().find(name);
    if (found == content.tensors().end() || found->second.dtype != "F32" ||
        found->second.shape != std::vector<int64_t>{tensor.numel()}) {
      throw Error("{}: \"{}\" is missing or of another size", file.string(), name);
    }
    std::memcpy(tensor.data_ptr<float>(), found->second.data, found->second.bytes);
  };
  read("first_moment", state.first_moment);
  read("second_moment", state.second_moment);
  read("average", state.average);
}

}  // namespace

void save_checkpoint(const fs::path& directory, int64_t keep, const model::Transformer& model,
                     const OptimizerState& optimizer, const Progress& progress) {
  const fs::path place = directory / fmt::format("{}{:09}", kPrefix, progress.step);
  const fs::path unfinished = place.string() + kUnfinished;
  std::error_code ignored;
  fs::remove_all(unfinished, ignored);
  make_writable_folder(unfinished);
  try {
    model::save_parameters(unfinished / model::kWeightsFile, model.parameters());
    write_optimizer(unfinished / kOptimizerFile, optimizer);
    write_file(unfinished / kProgressFile, to_json(progress));
    fs::remove_all(place, ignored);
    std::error_code error;
    fs::rename(unfinished, place, error);
    if (error) throw Error("{}: cannot write: {}", place.string(), error.message());
  } catch (...) {
    fs::remove_all(unfinished, ignored);
    throw;
  }
  sync_folder(directory);
  const auto all = checkpoints(directory);
  for (size_t i = static_cast<size_t>(keep); i < all.size(); ++i) fs::remove_all(all[i], ignored);
}

std::optional<Progress> load_newest_checkpoint(const fs::path& directory,
                                               const model::Transformer& model,
                                               OptimizerState& optimizer) {
  const auto all = checkpoints(directory);
  for (const fs::path& place : all) {
    try {
      // The weights last: what fails before leaves the model as it was.
      const Progress progress = progress_from_json(place / kProgressFile);
      read_optimizer(place / kOptimizerFile, optimizer);
      model::load_parameters(place / model::kWeightsFile, model.parameters());
      return progress;
    } catch (const Error& e) {
      if (place == all.back()) throw;
      spdlog::warn("{}; going on from the checkpoint before", e.what());
    }
  }
  return std::nullopt;
}

bool has_checkpoint(const fs::path& directory) { return !checkpoints(directory).empty(); }

}  // namespace filigree::train
