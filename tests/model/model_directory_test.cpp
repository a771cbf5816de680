#include "filigree/model/model_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "tests/model/small_config.h"
#include "tests/support/temporary_folder.h"

namespace filigree::model {
namespace {

using test::TemporaryFolder;
using testing::HasSubstr;

text::Tokenizer tokenizer(int size, const std::string& line) {
  text::TokenizerOptions options;
  options.vocab_size = size;
  return text::train_tokenizer(std::vector<std::string>(20, line), options);
}

// Writes a whole model; separate vocabularies when `shared` is false.
ModelConfig write_model(const std::string& directory, bool shared) {
  std::filesystem::create_directories(directory);
  const text::Tokenizer source = tokenizer(25, "a small model to be written and read");
  const text::Tokenizer target = shared ? source : tokenizer(22, "noch ein kleines Modell");
  ModelConfig config = small_config(source.size());
  config.shared_vocabulary = shared;
  config.target_vocabulary = target.size();
  Transformer transformer(config);
  transformer.initialise(1);
  save_model_files(directory, config, {source, target});
  save_parameters(std::filesystem::path(directory) / kWeightsFile, transformer.parameters());
  return config;
}

std::string failure_of(const std::string& directory) {
  try {
    load_model(directory);
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::Not(HasSubstr("\n")));
    return e.what();
  }
  return "no error";
}

TEST(ModelDirectory, LoadsWhatWasSaved) {
  for (const bool shared : {true, false}) {
    const TemporaryFolder folder;
    const ModelConfig config = write_model(folder / "m", shared);
    const Model model = load_model(folder / "m");
    EXPECT_EQ(to_json(model.transformer.config()), to_json(config));
    EXPECT_EQ(model.tokenizers.target.size(), config.target_vocabulary);
    EXPECT_GT(model.transformer.parameters().values().abs().sum().item<double>(), 0);
  }
}

TEST(ModelDirectory, EveryMissingOrUnfitPartIsNamed) {
  const TemporaryFolder folder;
  EXPECT_THAT(failure_of(folder / "none"), HasSubstr("no such model directory"));
  std::filesystem::create_directories(folder / "empty");
  EXPECT_THAT(failure_of(folder / "empty"), HasSubstr("it has no config.json"));

  write_model(folder / "m", true);
  const auto weights = folder.path() / "m" / kWeightsFile;
  const std::string content = read_file(weights);
  write_file(weights, content.substr(0, content.size() / 2));
  EXPECT_THAT(failure_of(folder / "m"), HasSubstr("model.safetensors: cut short"));
  std::filesystem::remove(weights);
  EXPECT_THAT(failure_of(folder / "m"), HasSubstr("no model.safetensors yet"));
  write_file(weights, content);

  const auto spm = folder.path() / "m" / kSharedTokenizerFile;
  write_file(spm, tokenizer(20, "another text").bytes());
  EXPECT_THAT(failure_of(folder / "m"), HasSubstr("pieces, but config.json says 25"));
  write_file(spm, "junk");
  EXPECT_THAT(failure_of(folder / "m"), HasSubstr("shared.spm"));
}

}  // namespace
}  // namespace filigree::model
