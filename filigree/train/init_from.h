// Starting a training from the weights of another model.
#pragma once

#include <filesystem>

#include "filigree/model/model_directory.h"
#include "filigree/model/transformer.h"
#include "filigree/train/options.h"

namespace filigree::train {

/// Throws Error when there is no model in `directory`, or its widths are not those of the options.
void require_fit(const std::filesystem::path& directory, const TrainOptions& options);

/// Takes what fits from the model in `directory` into `model`, which is initialised already, and
/// logs what that was; see model::carry_over().
void start_from_other(const std::filesystem::path& directory, const model::Tokenizers& tokenizers,
                      model::Transformer& model);

}  // namespace filigree::train
