#include "filigree/train/checkpoint.h"

#include <torch/torch.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/hash.h"
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
constexpr const char* kAverage = "average";
constexpr const char* kHashedFiles[] = {model::kWeightsFile, kOptimizerFile};

// One list of fields for writing and reading; `field(name, value)` sees each.
template <typename P, typename Field>
void for_each_field(P& p, Field&& field) {
  field("step", p.step);
  field("epoch", p.epoch);
  field("batch", p.batch);
  field("target_tokens", p.target_tokens);
  field("seconds", p.seconds);
  field("best_step", p.best_step);
  field("validations_without_gain", p.validations_without_gain);
  field("validated_step", p.validated_step);
  field("bad_steps", p.bad_steps);
  field("skipped_steps", p.skipped_steps);
  field("rollbacks", p.rollbacks);
  field("rate_factor", p.rate_factor);
  field("seed", p.seed);
  field("data", p.data);
  field("recent_loss", p.recent.loss);
  field("recent_tokens", p.recent.tokens);
  field("recent_gradient_norms", p.recent.gradient_norms);
  field("recent_steps", p.recent.steps);
  field("recent_seconds", p.recent.seconds);
}

std::string hex(uint64_t hash) { return fmt::format("{:016x}", hash); }

// `files`: the hashes of the other files of the checkpoint, by name.
void write_progress(const fs::path& file, const Progress& p, const Json& files) {
  Json json;
  for_each_field(p, [&](const char* name, const auto& value) { json[name] = value; });
  json["best_score"] = p.best_score ? Json(*p.best_score) : Json();
  json["files"] = files;
  json["hash"] = hex(hash_bytes(json.dump()));
  write_file(file, json.dump(2) + "\n");
}

// The content of trainer.json when it is what was written.
Json read_whole_json(const fs::path& file) {
  Json json = Json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  const Json hash = json.is_object() && json.contains("hash") ? json["hash"] : Json();
  if (hash.is_string()) json.erase("hash");
  if (!hash.is_string() || hash != hex(hash_bytes(json.dump()))) {
    throw Error("{}: damaged", file.string());
  }
  return json;
}

}  // namespace

Progress read_progress(const fs::path& place) {
  const fs::path file = place / kProgressFile;
  const Json json = read_whole_json(file);
  Progress p;
  try {
    for_each_field(p, [&](const char* name, auto& value) { json.at(name).get_to(value); });
    if (!json.at("best_score").is_null()) p.best_score = json["best_score"].get<double>();
    for (const char* name : kHashedFiles) {
      if (json.at("files").at(name) != hex(hash_file(place / name))) {
        throw Error("{}: damaged", (place / name).string());
      }
    }
  } catch (const Json::exception&) {
    throw Error("{}: of another version: a field is missing or of the wrong type", file.string());
  }
  return p;
}

int64_t step_of(const fs::path& place) {
  return std::atoll(place.filename().c_str() + std::string_view(kPrefix).size());
}

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

namespace {

fs::path place_of(const fs::path& directory, int64_t step) {
  return directory / fmt::format("{}{:09}", kPrefix, step);
}

// Removes a checkpoint so that it is never seen in part.
void discard(const fs::path& place) {
  const fs::path unfinished = place.string() + kUnfinished;
  std::error_code ignored;
  fs::remove_all(unfinished, ignored);
  fs::rename(place, unfinished, ignored);
  fs::remove_all(unfinished, ignored);
}

void write_optimizer(const fs::path& file, const OptimizerState& state) {
  std::vector<model::TensorToWrite> tensors;
  std::vector<at::Tensor> here;
  auto add = [&](const char* name, const at::Tensor& tensor) {
    if (!tensor.defined()) return;
    here.push_back(tensor.cpu());
    tensors.push_back({name, "F32", {tensor.numel()}, here.back().data_ptr<float>()});
  };
  add("first_moment", state.first_moment);
  add("second_moment", state.second_moment);
  add(kAverage, state.average);
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
    tensor.copy_(torch::from_blob(const_cast<char*>(found->second.data), {tensor.numel()}));
  };
  read("first_moment", state.first_moment);
  read("second_moment", state.second_moment);
  read(kAverage, state.average);
}

}  // namespace

void save_checkpoint(const fs::path& directory, const KeepPolicy& keep,
                     const model::Transformer& model, const OptimizerState& optimizer,
                     const Progress& progress) {
  const fs::path place = place_of(directory, progress.step);
  const fs::path unfinished = place.string() + kUnfinished;
  std::error_code ignored;
  fs::remove_all(unfinished, ignored);
  make_writable_folder(unfinished);
  try {
    model::save_parameters(unfinished / model::kWeightsFile, model.parameters());
    write_optimizer(unfinished / kOptimizerFile, optimizer);
    Json files;
    for (const char* name : kHashedFiles) files[name] = hex(hash_file(unfinished / name));
    write_progress(unfinished / kProgressFile, progress, files);
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
  for (size_t i = static_cast<size_t>(keep.last); i < all.size(); ++i) {
    if (keep.every == 0 || step_of(all[i]) % keep.every != 0) discard(all[i]);
  }
}

void update_checkpoint(const fs::path& directory, const Progress& progress) {
  const fs::path file = place_of(directory, progress.step) / kProgressFile;
  write_progress(file, progress, read_whole_json(file).at("files"));
}

std::optional<Progress> load_newest_checkpoint(const fs::path& directory,
                                               const model::Transformer& model,
                                               OptimizerState& optimizer, int64_t before) {
  auto all = checkpoints(directory);
  std::erase_if(all, [&](const fs::path& place) { return step_of(place) >= before; });
  for (const fs::path& place : all) {
    try {
      // The weights last: what fails before leaves the model as it was.
      const Progress progress = read_progress(place);
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

void load_validated_weights(const fs::path& place, const model::Parameters& parameters) {
  read_progress(place);  // Compares the files with their hashes.
  model::load_parameters(place / model::kWeightsFile, parameters);
  if (!model::SafetensorsFile(place / kOptimizerFile).tensors().contains(kAverage)) return;
  OptimizerState average_alone;
  average_alone.average = parameters.values();
  read_optimizer(place / kOptimizerFile, average_alone);
}

void remove_checkpoints_from(const fs::path& directory, int64_t first) {
  for (const fs::path& place : checkpoints(directory)) {
    if (step_of(place) >= first) discard(place);
  }
}

void remove_unfinished_checkpoints(const fs::path& directory) {
  std::error_code ignored;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kPrefix) && name.ends_with(kUnfinished)) found.push_back(entry.path());
  }
  for (const fs::path& place : found) fs::remove_all(place, ignored);
}

bool has_checkpoint(const fs::path& directory) { return !checkpoints(directory).empty(); }

}  // namespace filigree::train
