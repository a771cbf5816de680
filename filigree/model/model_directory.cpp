#include "filigree/model/model_directory.h"

#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/base/files.h"

namespace filigree::model {
namespace {

text::Tokenizer load_tokenizer(const std::filesystem::path& file, int64_t vocabulary) {
  text::Tokenizer tokenizer = text::Tokenizer::load(file);
  if (tokenizer.size() != vocabulary) {
    throw Error("{}: {} pieces, but config.json says {}", file.string(), tokenizer.size(),
                vocabulary);
  }
  return tokenizer;
}

}  // namespace

ModelConfig load_config(const std::filesystem::path& directory) {
  std::error_code ignored;
  if (!std::filesystem::exists(directory, ignored)) {
    throw Error("{}: no such model directory", directory.string());
  }
  const auto file = directory / kConfigFile;
  if (!std::filesystem::exists(file, ignored)) {
    throw Error("{}: not a model directory (it has no {})", directory.string(), kConfigFile);
  }
  return model_config_from_json(read_file(file), file);
}

Tokenizers load_tokenizers(const std::filesystem::path& directory, const ModelConfig& config) {
  if (config.shared_vocabulary) {
    text::Tokenizer shared =
        load_tokenizer(directory / kSharedTokenizerFile, config.source_vocabulary);
    return {shared, shared};
  }
  return {load_tokenizer(directory / kSourceTokenizerFile, config.source_vocabulary),
          load_tokenizer(directory / kTargetTokenizerFile, config.target_vocabulary)};
}

Model load_model(const std::filesystem::path& directory) {
  const ModelConfig config = load_config(directory);
  std::error_code ignored;
  if (!std::filesystem::exists(directory / kWeightsFile, ignored)) {
    throw Error("{}: no {} yet; training writes it at the first validation", directory.string(),
                kWeightsFile);
  }
  Tokenizers tokenizers = load_tokenizers(directory, config);
  Transformer transformer(config);
  load_parameters(directory / kWeightsFile, transformer.parameters());
  return {std::move(transformer), std::move(tokenizers)};
}

void save_model_files(const std::filesystem::path& directory, const ModelConfig& config,
                      const Tokenizers& tokenizers) {
  if (config.shared_vocabulary) {
    write_file(directory / kSharedTokenizerFile, tokenizers.source.bytes());
  } else {
    write_file(directory / kSourceTokenizerFile, tokenizers.source.bytes());
    write_file(directory / kTargetTokenizerFile, tokenizers.target.bytes());
  }
  write_file(directory / kConfigFile, to_json(config));
}

}  // namespace filigree::model
