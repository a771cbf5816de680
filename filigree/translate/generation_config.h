// generation_config.json of a model directory: how its owner wants it to be searched.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include "filigree/translate/search.h"

namespace filigree::translate {

struct GenerationConfig {
  SearchOptions search;
  /// Pieces of the longest source that is translated in one go; longer ones are split.
  int max_source_length = 512;
  /// [layer, head], both from 0, of the cross-attention's heads that alignments are made of; see
  /// alignment_rule() for when there are none.
  std::vector<std::array<int, 2>> alignment_heads;
  int alignment_votes = 0;       ///< see AlignmentRule::votes
  bool alignment_shift = false;  ///< see AlignmentRule::shift
};

/// The keys are the names of the fields; absent ones keep their defaults.
/// Throws Error naming `file` and the key when a key is unknown, or a value of the wrong type or
/// out of range.
GenerationConfig generation_config_from_json(const std::string& text,
                                             const std::filesystem::path& file);
std::string to_json(const GenerationConfig& config);

/// Writes it to generation_config.json in a model directory.
void save_generation_config(const std::filesystem::path& model_directory,
                            const GenerationConfig& config);

/// From generation_config.json in a model directory; the defaults when it has none.
GenerationConfig load_generation_config(const std::filesystem::path& model_directory);

}  // namespace filigree::translate
