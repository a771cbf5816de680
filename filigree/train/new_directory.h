// Writing a whole model directory at once.
#pragma once

#include <filesystem>
#include <string>

#include "filigree/model/model_directory.h"
#include "filigree/translate/generation_config.h"

namespace filigree::train {

/// "model/" as "model", so that names can be added to it and taken from it.
std::filesystem::path without_slash(const std::filesystem::path& path);

/// Throws Error naming `option` when something is at the place already, but for an empty folder.
void require_new(const std::filesystem::path& place, const std::string& option);

/// Writes it under another name and renames it when all of it is there. values: see
/// model::save_parameters().
void write_new_directory(const std::filesystem::path& place, const model::Transformer& transformer,
                         const model::Tokenizers& tokenizers,
                         const translate::GenerationConfig& generation,
                         const at::Tensor& values = {});

}  // namespace filigree::train
