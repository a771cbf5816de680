#include "filigree/translate/generation_config.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "filigree/base/error.h"
#include "filigree/base/files.h"

namespace filigree::translate {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kGenerationConfigFile = "generation_config.json";

/// Calls visit(key, field) for every field, in the order in which they are written.
template <typename Config, typename Visit>
void visit_fields(Config& config, const Visit& visit) {
  visit("beam_size", config.search.beam_size);
  visit("n_best", config.search.n_best);
  visit("length_penalty", config.search.length_penalty);
  visit("word_penalty", config.search.word_penalty);
  visit("repetition_penalty", config.search.repetition_penalty);
  visit("coverage_penalty", config.search.coverage_penalty);
  visit("max_length_factor", config.search.max_length_factor);
  visit("max_length_offset", config.search.max_length_offset);
  visit("min_length_factor", config.search.min_length_factor);
  visit("min_length", config.search.min_length);
  visit("no_repeat_ngram_size", config.search.no_repeat_ngram_size);
  visit("allow_unk", config.search.allow_unk);
  visit("sampling", config.search.sampling);
  visit("temperature", config.search.token_sampling.temperature);
  visit("top_k", config.search.token_sampling.top_k);
  visit("top_p", config.search.token_sampling.top_p);
  visit("max_source_length", config.max_source_length);
  visit("alignment_heads", config.alignment_heads);
  visit("alignment_votes", config.alignment_votes);
  visit("alignment_shift", config.alignment_shift);
}

bool fits(const Json& value, int) {
  return value.is_number_integer() && value >= std::numeric_limits<int>::min() &&
         value <= std::numeric_limits<int>::max();
}
bool fits(const Json& value, bool) { return value.is_boolean(); }
bool fits(const Json& value, double) { return value.is_number(); }
bool fits(const Json& value, const std::vector<std::array<int, 2>>&) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const Json& head) {
           return head.is_array() && head.size() == 2 && fits(head[0], 0) && fits(head[1], 0);
         });
}

void read_field(const Json& json, const std::string& key, GenerationConfig& config,
                const std::filesystem::path& file) {
  bool known = false;
  visit_fields(config, [&](const char* name, auto& field) {
    if (key != name) return;
    known = true;
    if (!fits(json[key], field)) {
      throw Error("{}: \"{}\" has a value of the wrong type", file.string(), key);
    }
    json[key].get_to(field);
  });
  if (!known) throw Error("{}: unknown key \"{}\"", file.string(), key);
}

}  // namespace

GenerationConfig generation_config_from_json(const std::string& text,
                                             const std::filesystem::path& file) {
  Json json;
  try {
    json = Json::parse(text);
  } catch (const Json::parse_error& e) {
    throw Error("{}: not JSON (byte {})", file.string(), e.byte);
  }
  if (!json.is_object()) throw Error("{}: expected a JSON object", file.string());
  GenerationConfig config;
  for (const auto& [key, value] : json.items()) read_field(json, key, config, file);
  try {
    config.search.check();
  } catch (const UsageError& e) {
    throw Error("{}: {}", file.string(), e.what());
  }
  if (config.max_source_length < 1) {
    throw Error("{}: max_source_length must be at least 1", file.string());
  }
  return config;
}

std::string to_json(const GenerationConfig& config) {
  Json json = Json::object();
  visit_fields(config, [&](const char* name, const auto& field) { json[name] = field; });
  return json.dump(2) + "\n";
}

void save_generation_config(const std::filesystem::path& model_directory,
                            const GenerationConfig& config) {
  write_file(model_directory / kGenerationConfigFile, to_json(config));
}

GenerationConfig load_generation_config(const std::filesystem::path& model_directory) {
  const std::filesystem::path file = model_directory / kGenerationConfigFile;
  if (!std::filesystem::exists(file)) return {};
  return generation_config_from_json(read_file(file), file);
}

}  // namespace filigree::translate
