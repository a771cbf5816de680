// generation_config.json of a model directory: how its owner wants it to be searched.
#pragma once

#include <filesystem>
#include <string>

#include "filigree/translate/search.h"

namespace filigree::translate {

struct GenerationConfig {
  SearchOptions search;
  /// Pieces of the longest source that is translated in one go; longer ones are split.
  int max_source_length = 512;
};

/// The keys are the names of the fields; absent ones keep their defaults.
/// Throws Error naming `file` and the key when a key is unknown, or a value of the wrong type or
/// out of range.
GenerationConfig generation_config_from_json(const std::string& text,
                                             const std::filesystem::path& file);
std::string to_json(const GenerationConfig& config);

/// From generation_config.json in a model directory; the defaults when it has none.
GenerationConfig load_generation_config(const std::filesystem::path& model_directory);

}  // namespace filigree::translate
