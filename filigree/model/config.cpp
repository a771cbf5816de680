#include "filigree/model/config.h"

#include <nlohmann/json.hpp>

#include <map>
#include <set>

#include "filigree/base/error.h"
#include "filigree/base/version.h"

namespace filigree::model {
namespace {

using Json = nlohmann::ordered_json;

const std::map<Transform, std::string> kTransformNames = {{Transform::kSoftmax, "softmax"},
                                                          {Transform::kSparsemax, "sparsemax"},
                                                          {Transform::kEntmax15, "entmax15"},
                                                          {Transform::kEntmax, "entmax"},
                                                          {Transform::kAdaptive, "adaptive"}};

struct Preset {
  int64_t encoder_layers, decoder_layers, d_model, d_ff, heads;
};
const std::map<std::string, Preset> kPresets = {{"tiny", {4, 4, 128, 256, 4}},
                                                {"small", {3, 3, 256, 1024, 4}},
                                                {"base", {6, 6, 512, 2048, 8}},
                                                {"big", {6, 6, 1024, 4096, 16}}};

// Takes keys out of an object one by one, so that what remains is unknown.
class Fields {
 public:
  Fields(const Json& object, std::string where) : where_(std::move(where)), object_(object) {
    if (!object.is_object()) throw Error("{}: expected a JSON object", where_);
    for (const auto& [key, value] : object.items()) left_.insert(key);
  }

  template <typename T>
  void get(const char* key, T& value) {
    const Json& json = at(key);
    const bool fits = std::is_same_v<T, bool>       ? json.is_boolean()
                      : std::is_integral_v<T>       ? json.is_number_integer()
                      : std::is_floating_point_v<T> ? json.is_number()
                                                    : json.is_string();
    if (!fits) throw Error("{}: \"{}\" has a value of the wrong type", where_, key);
    value = json.get<T>();
  }
  bool has(const char* key) const { return object_.contains(key); }
  const Json& at(const char* key) {
    if (left_.erase(key) == 0) throw Error("{}: \"{}\" is missing", where_, key);
    return object_[key];
  }
  void finish() const {
    if (!left_.empty()) throw Error("{}: unknown key \"{}\"", where_, *left_.begin());
  }

 private:
  std::string where_;
  const Json& object_;
  std::set<std::string> left_;
};

Json to_json(const AttentionTransform& t) {
  Json json = {{"transform", to_string(t.transform)}};
  if (t.transform == Transform::kEntmax) json["alpha"] = t.alpha;
  if (t.learned()) {
    json["alpha_min"] = t.alpha_min;
    json["alpha_max"] = t.alpha_max;
  }
  return json;
}

AttentionTransform transform_from_json(const Json& json, const std::string& where) {
  Fields fields(json, where);
  AttentionTransform t;
  std::string name;
  fields.get("transform", name);
  try {
    t.transform = parse_transform(name, "transform");
  } catch (const UsageError& e) {
    throw Error("{}: {}", where, e.what());
  }
  if (t.transform == Transform::kEntmax) fields.get("alpha", t.alpha);
  if (t.learned()) {
    fields.get("alpha_min", t.alpha_min);
    fields.get("alpha_max", t.alpha_max);
  }
  fields.finish();
  return t;
}

Json output_to_json(double alpha) {
  if (alpha == 1) return to_json(AttentionTransform{.transform = Transform::kSoftmax});
  return to_json(AttentionTransform{.transform = Transform::kEntmax, .alpha = alpha});
}

double output_alpha_from_json(const Json& json, const std::string& where) {
  const AttentionTransform t = transform_from_json(json, where);
  if (t.learned()) throw Error("{}: \"adaptive\" is for attention; the output's α is fixed", where);
  return t.fixed_alpha();
}

// "encoder_heads": the heads of every layer, in models that were pruned.
std::string heads_key(AttentionBlock block) { return std::string(name_of(block)) + "_heads"; }

std::vector<int64_t> integers_from_json(const Json& json, const std::string& where) {
  std::vector<int64_t> numbers;
  for (const Json& number : json) {
    if (!number.is_number_integer()) break;
    numbers.push_back(number.get<int64_t>());
  }
  if (!json.is_array() || numbers.empty() || numbers.size() != json.size()) {
    throw Error("{}: expected a list of whole numbers", where);
  }
  return numbers;
}

void check(bool good, const char* field, const char* rule, double value) {
  if (!good) throw UsageError("{} must be {}, got {}", field, rule, value);
}

}  // namespace

double AttentionTransform::fixed_alpha() const {
  switch (transform) {
    case Transform::kSparsemax:
      return 2;
    case Transform::kEntmax15:
      return 1.5;
    case Transform::kEntmax:
      return alpha;
    default:
      return 1;
  }
}

const char* name_of(AttentionBlock block) {
  switch (block) {
    case AttentionBlock::kEncoder:
      return "encoder";
    case AttentionBlock::kCross:
      return "cross";
    default:
      return "decoder";
  }
}

const AttentionTransform& ModelConfig::attention(AttentionBlock block) const {
  return block == AttentionBlock::kEncoder ? encoder_attention
         : block == AttentionBlock::kCross ? cross_attention
                                           : decoder_attention;
}

AttentionTransform& ModelConfig::attention(AttentionBlock block) {
  return const_cast<AttentionTransform&>(std::as_const(*this).attention(block));
}

int64_t ModelConfig::layers(AttentionBlock block) const {
  return block == AttentionBlock::kEncoder ? encoder_layers : decoder_layers;
}

int64_t ModelConfig::heads_of(AttentionBlock block, int64_t layer) const {
  const std::vector<int64_t>& left = heads_left[static_cast<size_t>(block)];
  return left.empty() ? heads : left[static_cast<size_t>(layer)];
}

int64_t ModelConfig::total_heads() const {
  int64_t total = 0;
  for (const auto block : kAttentionBlocks) {
    for (int64_t layer = 0; layer < layers(block); ++layer) total += heads_of(block, layer);
  }
  return total;
}

Transform parse_transform(const std::string& name, const std::string& option) {
  for (const auto& [transform, known] : kTransformNames) {
    if (known == name) return transform;
  }
  throw UsageError("{}: \"{}\" is not one of softmax, sparsemax, entmax15, entmax, adaptive",
                   option, name);
}

std::string to_string(Transform transform) { return kTransformNames.at(transform); }

void apply_preset(ModelConfig& config, const std::string& preset) {
  const auto found = kPresets.find(preset);
  if (found == kPresets.end()) {
    throw UsageError("--preset: \"{}\" is not one of tiny, small, base, big", preset);
  }
  const Preset& p = found->second;
  config.encoder_layers = p.encoder_layers;
  config.decoder_layers = p.decoder_layers;
  config.d_model = p.d_model;
  config.d_ff = p.d_ff;
  config.heads = p.heads;
}

void validate(const ModelConfig& c) {
  check(c.encoder_layers >= 1, "encoder_layers", "at least 1", c.encoder_layers);
  check(c.decoder_layers >= 1, "decoder_layers", "at least 1", c.decoder_layers);
  check(c.heads >= 1, "heads", "at least 1", c.heads);
  check(c.d_model >= 2 && c.d_model % c.heads == 0 && c.d_model % 2 == 0, "d_model",
        "even and a multiple of heads", c.d_model);
  for (const auto block : kAttentionBlocks) {
    const std::vector<int64_t>& left = c.heads_left[static_cast<size_t>(block)];
    if (left.empty()) continue;
    const std::string key = heads_key(block);
    check(static_cast<int64_t>(left.size()) == c.layers(block), key.c_str(),
          "one number for each layer", static_cast<double>(left.size()));
    for (const int64_t heads : left) {
      check(heads >= 1 && heads <= c.heads, key.c_str(), "between 1 and heads",
            static_cast<double>(heads));
    }
  }
  check(c.d_ff >= 1, "d_ff", "at least 1", c.d_ff);
  check(c.source_vocabulary >= 4, "source_vocabulary", "at least 4", c.source_vocabulary);
  check(c.target_vocabulary >= 4, "target_vocabulary", "at least 4", c.target_vocabulary);
  check(!c.shared_vocabulary || c.source_vocabulary == c.target_vocabulary, "target_vocabulary",
        "equal to source_vocabulary when it is shared", c.target_vocabulary);
  check(c.source_eos >= 0 && c.source_eos < c.source_vocabulary, "source_eos_id",
        "inside the vocabulary", c.source_eos);
  check(c.target_bos >= 0 && c.target_bos < c.target_vocabulary, "target_bos_id",
        "inside the vocabulary", c.target_bos);
  check(c.target_eos >= 0 && c.target_eos < c.target_vocabulary, "target_eos_id",
        "inside the vocabulary", c.target_eos);
  for (const auto block : kAttentionBlocks) {
    const AttentionTransform& t = c.attention(block);
    check(t.alpha >= 1 && t.alpha <= 1e3, "alpha", "between 1 and 1000", t.alpha);
    check(t.alpha_min >= 1 && t.alpha_min < t.alpha_max, "alpha_min",
          "at least 1 and below alpha_max", t.alpha_min);
    check(t.alpha_max <= 1e3, "alpha_max", "at most 1000", t.alpha_max);
  }
  check(c.output_alpha >= 1 && c.output_alpha <= 1e3, "the output's alpha", "between 1 and 1000",
        c.output_alpha);
}

std::string to_json(const ModelConfig& c) {
  Json json = {{"model_type", "filigree-transformer"},
               {"filigree_version", version()},
               {"encoder_layers", c.encoder_layers},
               {"decoder_layers", c.decoder_layers},
               {"d_model", c.d_model},
               {"d_ff", c.d_ff},
               {"heads", c.heads},
               {"encoder_attention", to_json(c.encoder_attention)},
               {"cross_attention", to_json(c.cross_attention)},
               {"decoder_attention", to_json(c.decoder_attention)},
               {"output", output_to_json(c.output_alpha)},
               {"pre_norm", c.pre_norm},
               {"tied_embeddings", c.tied_embeddings},
               {"shared_vocabulary", c.shared_vocabulary},
               {"source_vocabulary", c.source_vocabulary},
               {"target_vocabulary", c.target_vocabulary},
               {"source_eos_id", c.source_eos},
               {"target_bos_id", c.target_bos},
               {"target_eos_id", c.target_eos}};
  for (const auto block : kAttentionBlocks) {
    const std::vector<int64_t>& left = c.heads_left[static_cast<size_t>(block)];
    if (!left.empty()) json[heads_key(block)] = left;
  }
  return json.dump(2) + "\n";
}

ModelConfig model_config_from_json(const std::string& text, const std::filesystem::path& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw Error("{}: not JSON (byte {})", file.string(), e.byte);
  }
  Fields fields(json, file.string());
  ModelConfig c;
  std::string type, version;
  fields.get("model_type", type);
  if (type != "filigree-transformer") {
    throw Error("{}: model_type \"{}\" is not filigree-transformer", file.string(), type);
  }
  fields.get("filigree_version", version);
  fields.get("encoder_layers", c.encoder_layers);
  fields.get("decoder_layers", c.decoder_layers);
  fields.get("d_model", c.d_model);
  fields.get("d_ff", c.d_ff);
  fields.get("heads", c.heads);
  for (const auto block : kAttentionBlocks) {
    const std::string key = std::string(name_of(block)) + "_attention";
    c.attention(block) = transform_from_json(fields.at(key.c_str()), file.string() + ": " + key);
  }
  // Absent in models from before there was a choice.
  if (fields.has("output")) {
    c.output_alpha = output_alpha_from_json(fields.at("output"), file.string() + ": output");
  }
  fields.get("pre_norm", c.pre_norm);
  fields.get("tied_embeddings", c.tied_embeddings);
  fields.get("shared_vocabulary", c.shared_vocabulary);
  fields.get("source_vocabulary", c.source_vocabulary);
  fields.get("target_vocabulary", c.target_vocabulary);
  fields.get("source_eos_id", c.source_eos);
  fields.get("target_bos_id", c.target_bos);
  fields.get("target_eos_id", c.target_eos);
  for (const auto block : kAttentionBlocks) {
    const std::string key = heads_key(block);
    if (!fields.has(key.c_str())) continue;
    c.heads_left[static_cast<size_t>(block)] =
        integers_from_json(fields.at(key.c_str()), file.string() + ": " + key);
  }
  fields.finish();
  try {
    validate(c);
  } catch (const UsageError& e) {
    throw Error("{}: {}", file.string(), e.what());
  }
  return c;
}

}  // namespace filigree::model
