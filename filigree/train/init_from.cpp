#include "filigree/train/init_from.h"

#include "filigree/base/log.h"
#include "filigree/base/progress.h"
#include "filigree/model/carry_over.h"

namespace filigree::train {

void require_fit(const std::filesystem::path& directory, const TrainOptions& options) {
  model::require_same_widths(model::load_config(directory), directory.string(),
                             options.model_config);
}

void start_from_other(const std::filesystem::path& directory, const model::Tokenizers& tokenizers,
                      model::Transformer& model) {
  const model::CarriedOver taken =
      model::carry_over(model::load_model(directory), directory.string(), model, tokenizers);
  const auto share = [](int64_t part, int64_t whole) {
    return fmt::format("{} of {}", format_count(part), format_count(whole));
  };
  const model::ModelConfig& config = model.config();
  std::string text = fmt::format(
      "starting from {}: {} parameters and {}", directory.string(),
      share(taken.parameters, model.parameters().count()),
      config.shared_vocabulary
          ? share(taken.source_pieces, config.source_vocabulary) + " vocabulary pieces"
          : share(taken.source_pieces, config.source_vocabulary) + " source and " +
                share(taken.target_pieces, config.target_vocabulary) + " target pieces");
  for (const std::string& note : taken.notes) text += "\n  " + note;
  spdlog::info("{}", text);
}

}  // namespace filigree::train
