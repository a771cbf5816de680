// A small model with random weights: what it says is nonsense, but always the same nonsense.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "filigree/model/model_directory.h"
#include "filigree/model/transformer.h"

namespace filigree::translate {

inline model::ModelConfig small_config(int vocabulary, const std::string& transform = "adaptive") {
  model::ModelConfig config;
  config.encoder_layers = 2;
  config.decoder_layers = 2;
  config.d_model = 24;
  config.d_ff = 40;
  config.heads = 3;
  config.source_vocabulary = config.target_vocabulary = vocabulary;
  for (const auto block : model::kAttentionBlocks) {
    config.attention(block).transform = model::parse_transform(transform, "transform");
  }
  return config;
}

inline model::Transformer random_model(const model::ModelConfig& config, uint64_t seed = 1) {
  model::Transformer transformer(config);
  transformer.initialise(seed);
  return transformer;
}

inline text::Tokenizer small_tokenizer(const std::vector<std::string>& text = {
                                           "the quick brown fox jumps over the lazy dog.",
                                           "pack my box with five dozen liquor jugs. The End!"}) {
  text::TokenizerOptions options;
  options.vocab_size = 60;
  std::vector<std::string> lines;
  for (int i = 0; i < 20; ++i) lines.insert(lines.end(), text.begin(), text.end());
  return text::train_tokenizer(lines, options);
}

/// Writes a whole model directory.
inline void write_model(const std::filesystem::path& directory,
                        const text::Tokenizer& tokenizer = small_tokenizer(), uint64_t seed = 1) {
  std::filesystem::create_directories(directory);
  const model::Transformer transformer = random_model(small_config(tokenizer.size()), seed);
  model::save_model_files(directory, transformer.config(), {tokenizer, tokenizer});
  model::save_parameters(directory / model::kWeightsFile, transformer.parameters());
}

}  // namespace filigree::translate
