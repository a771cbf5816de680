#include "filigree/train/average.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/model/model_directory.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/metrics.h"
#include "filigree/train/new_directory.h"
#include "filigree/train/validation.h"

namespace filigree::train {
namespace {

namespace fs = std::filesystem;

bool is_checkpoint(const fs::path& place) {
  std::error_code ignored;
  return fs::exists(place / kProgressFile, ignored) &&
         !fs::exists(place / model::kConfigFile, ignored);
}

// The directory with the config and the tokenizers.
fs::path home_of(const fs::path& place) {
  if (!is_checkpoint(place)) return place;
  return place.has_parent_path() ? place.parent_path() : ".";
}

void require_equal(const model::ModelConfig& first, const fs::path& first_home,
                   const model::ModelConfig& other, const fs::path& other_home) {
  using Json = nlohmann::ordered_json;
  const Json a = Json::parse(to_json(first)), b = Json::parse(to_json(other));
  for (const auto* json : {&a, &b}) {
    for (const auto& [key, unused] : json->items()) {
      const Json in_a = a.value(key, Json()), in_b = b.value(key, Json());
      if (in_a == in_b) continue;
      throw Error("{}: \"{}\" is {}, but {} in {}; models of one architecture can be averaged",
                  (other_home / model::kConfigFile).string(), key, in_b.dump(), in_a.dump(),
                  (first_home / model::kConfigFile).string());
    }
  }
}

void require_equal(const model::Tokenizers& first, const fs::path& first_home,
                   const model::Tokenizers& other, const fs::path& other_home) {
  if (other.source.bytes() != first.source.bytes() ||
      other.target.bytes() != first.target.bytes()) {
    throw Error("{}: its vocabulary is not that of {}; models of one vocabulary can be averaged",
                other_home.string(), first_home.string());
  }
}

at::Tensor mean_of_weights(const std::vector<fs::path>& places, const model::Parameters& buffer) {
  at::Tensor sum = torch::zeros({buffer.count()}, torch::kDouble);
  for (const fs::path& place : places) {
    const fs::path file = place / model::kWeightsFile;
    is_checkpoint(place) ? load_validated_weights(place, buffer)
                         : model::load_parameters(file, buffer);
    if (!buffer.values().isfinite().all().item<bool>()) {
      throw Error("{}: has weights that are not finite", file.string());
    }
    sum += buffer.values();
  }
  return sum / static_cast<double>(places.size());
}

void require_count(const fs::path& directory, size_t found, int64_t count, const char* kind) {
  if (static_cast<int64_t>(found) >= count) return;
  throw Error("{}: has {} {}, not {}; filigree train keeps more with --keep-last or --keep-every",
              directory.string(), found, kind, count);
}

}  // namespace

std::vector<fs::path> newest_checkpoints(const fs::path& directory, int64_t count) {
  model::load_config(directory);
  std::vector<fs::path> places = checkpoints(directory);
  require_count(directory, places.size(), count, "checkpoints");
  places.resize(static_cast<size_t>(count));
  return places;
}

std::vector<fs::path> best_checkpoints(const fs::path& directory, int64_t count,
                                       StoppingMetric metric) {
  model::load_config(directory);
  const fs::path file = directory / kMetricsFile;
  std::map<int64_t, ValidationReport> validations;
  for (const ValidationReport& report : read_validations(file)) validations[report.step] = report;

  std::vector<std::pair<double, fs::path>> scored;
  for (const fs::path& place : checkpoints(directory)) {
    const auto found = validations.find(step_of(place));
    if (found == validations.end()) continue;
    const ValidationReport& report = found->second;
    if ((metric == StoppingMetric::kBleu && !report.bleu) ||
        (metric == StoppingMetric::kChrf && !report.chrf)) {
      throw Error("{}: the validation of step {} has no BLEU and no chrF; rank by --metric loss",
                  file.string(), report.step);
    }
    const double score = stopping_score(report, metric);
    if (std::isfinite(score)) scored.emplace_back(score, place);
  }
  require_count(directory, scored.size(), count, "checkpoints with a validation");
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<fs::path> places;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) places.push_back(scored[i].second);
  return places;
}

void average_models(const std::vector<fs::path>& inputs, const fs::path& output) {
  const fs::path place = without_slash(output);
  require_new(place, "--model");
  std::vector<fs::path> places;
  for (const fs::path& input : inputs) places.push_back(without_slash(input));

  const fs::path home = home_of(places.at(0));
  const model::ModelConfig config = model::load_config(home);
  const model::Tokenizers tokenizers = model::load_tokenizers(home, config);
  const translate::GenerationConfig generation = translate::load_generation_config(home);
  for (const fs::path& input : places) {
    const fs::path other = home_of(input);
    if (other == home) continue;
    const model::ModelConfig other_config = model::load_config(other);
    require_equal(config, home, other_config, other);
    require_equal(tokenizers, home, model::load_tokenizers(other, other_config), other);
  }
  const model::Transformer transformer(config);
  const at::Tensor mean = mean_of_weights(places, transformer.parameters());
  write_new_directory(place, transformer, tokenizers, generation, mean);
}

}  // namespace filigree::train
