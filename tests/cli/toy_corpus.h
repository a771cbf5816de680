// A toy language pair, and a training on it that takes seconds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/process.h"

namespace filigree::test {

/// Two to five words a sentence, each with one translation, in the same order.
struct ToyCorpus {
  std::string source, target;  ///< lines
};
ToyCorpus toy_corpus(int pairs, int seed);

/// A folder with train.src, train.trg, valid.src, valid.trg, test.src, test.trg.
class ToyFolder : public TemporaryFolder {
 public:
  ToyFolder();

  /// `filigree train` on it, with a model of a few thousand parameters in folder/model, which
  /// options given here override.
  std::vector<std::string> train_command(const std::string& model,
                                         const std::vector<std::string>& more = {}) const;
};

/// A toy folder with a `model` that has learnt to translate. The first test that asks trains it,
/// for all tests of the program; they read it, and change copies.
const ToyFolder& trained_toy();

/// Copies the files that make a model directory into a new folder, without checkpoints and reports.
void copy_model(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace filigree::test
