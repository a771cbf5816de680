#include "filigree/train/metrics.h"

#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "filigree/base/files.h"

namespace filigree::train {
namespace {

using Json = nlohmann::ordered_json;

// Six significant digits are plenty for a log and keep its lines short.
double rounded(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const double unit = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * unit) / unit;
}

Json by_layer_and_head(const model::ModelConfig& config, model::AttentionBlock block,
                       const std::function<double(int64_t, int64_t)>& value) {
  Json layers = Json::array();
  for (int64_t layer = 0; layer < config.layers(block); ++layer) {
    Json heads = Json::array();
    for (int64_t head = 0; head < config.heads_of(block, layer); ++head)
      heads.push_back(rounded(value(layer, head)));
    layers.push_back(std::move(heads));
  }
  return layers;
}

}  // namespace

const char* perplexity_name(const model::ModelConfig& config) {
  return config.output_alpha == 1 ? "perplexity" : "epsilon_perplexity";
}

std::vector<ValidationReport> read_validations(const std::filesystem::path& file) {
  const auto number = [](const Json& json, const char* key) -> std::optional<double> {
    const auto found = json.find(key);
    if (found == json.end() || !found->is_number()) return std::nullopt;
    return found->get<double>();
  };
  constexpr double kNotFinite = std::numeric_limits<double>::quiet_NaN();
  std::vector<ValidationReport> reports;
  for (const std::string& line : read_lines(file)) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object() || json.value("type", Json()) != "validation") continue;
    ValidationReport r;
    r.step = static_cast<int64_t>(number(json, "step").value_or(0));
    r.epoch = number(json, "epoch").value_or(0);
    r.loss = number(json, "loss").value_or(kNotFinite);
    r.perplexity = number(json, "perplexity")
                       .value_or(number(json, "epsilon_perplexity").value_or(kNotFinite));
    r.bleu = number(json, "bleu");
    r.chrf = number(json, "chrf");
    reports.push_back(r);
  }
  return reports;
}

MetricsFile::MetricsFile(std::filesystem::path path, int64_t step) : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) return;
  std::string kept;
  for (const std::string& line : read_lines(path_)) {
    const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.value("step", int64_t{0}) <= step) kept += line + "\n";
  }
  write_file(path_, kept);
}

void MetricsFile::write(const TrainingReport& r) {
  append_to_file(path_, Json{{"type", "train"},
                             {"step", r.step},
                             {"epoch", rounded(r.epoch)},
                             {"loss", rounded(r.loss)},
                             {"learning_rate", rounded(r.learning_rate)},
                             {"gradient_norm", rounded(r.gradient_norm)},
                             {"tokens_per_second", rounded(r.tokens_per_second)}}
                                .dump() +
                            "\n");
}

void MetricsFile::write(const ValidationReport& r, const model::Transformer& model,
                        const model::AttentionCounts& counts) {
  Json json = {{"type", "validation"},
               {"step", r.step},
               {"epoch", rounded(r.epoch)},
               {"loss", rounded(r.loss)},
               {perplexity_name(model.config()), rounded(r.perplexity)}};
  if (r.bleu) json["bleu"] = rounded(*r.bleu);
  if (r.chrf) json["chrf"] = rounded(*r.chrf);
  const model::ModelConfig& config = model.config();
  for (const auto block : model::kAttentionBlocks) {
    std::vector<at::Tensor> alpha;
    for (int64_t i = 0; i < config.layers(block); ++i) {
      alpha.push_back(model.alpha(block, i).detach().to(at::kDouble));
    }
    json["alpha"][model::name_of(block)] =
        by_layer_and_head(config, block, [&](int64_t layer, int64_t head) {
          return alpha[static_cast<size_t>(layer)][head].item<double>();
        });
    json["density"][model::name_of(block)] = by_layer_and_head(
        config, block,
        [&](int64_t layer, int64_t head) { return counts.density(block, layer, head); });
  }
  append_to_file(path_, json.dump() + "\n");
}

}  // namespace filigree::train
