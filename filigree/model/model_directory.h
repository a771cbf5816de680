// A model on disk: config.json, model.safetensors and the tokenizers in one directory.
#pragma once

#include <filesystem>

#include "filigree/model/transformer.h"
#include "filigree/text/tokenizer.h"

namespace filigree::model {

inline constexpr const char* kConfigFile = "config.json";
inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kSharedTokenizerFile = "shared.spm";
inline constexpr const char* kSourceTokenizerFile = "source.spm";
inline constexpr const char* kTargetTokenizerFile = "target.spm";

struct Tokenizers {
  text::Tokenizer source, target;  ///< the same model when the vocabulary is shared
};

struct Model {
  Transformer transformer;
  Tokenizers tokenizers;
};

/// Reads config.json. Throws Error when the directory or file is missing or wrong.
ModelConfig load_config(const std::filesystem::path& directory);

/// Reads the tokenizers and checks their sizes against the config.
Tokenizers load_tokenizers(const std::filesystem::path& directory, const ModelConfig& config);

/// Reads everything. Throws Error in one line that names the file and what is wrong.
Model load_model(const std::filesystem::path& directory);

/// Writes config.json and the tokenizers (not the weights).
void save_model_files(const std::filesystem::path& directory, const ModelConfig& config,
                      const Tokenizers& tokenizers);

}  // namespace filigree::model
