#include "tests/cli/toy_corpus.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "filigree/base/random.h"

namespace filigree::test {

ToyCorpus toy_corpus(int pairs, int seed) {
  static const std::pair<const char*, const char*> kWords[] = {
      {"one", "eins"},  {"two", "zwei"}, {"red", "rot"},   {"blue", "blau"},
      {"cat", "Katze"}, {"dog", "Hund"}, {"sun", "Sonne"}, {"moon", "Mond"},
      {"old", "alt"},   {"new", "neu"},  {"big", "gross"}, {"small", "klein"}};
  Random random(static_cast<uint64_t>(seed));
  ToyCorpus corpus;
  for (int i = 0; i < pairs; ++i) {
    const auto length = 2 + random.below(4);
    for (uint64_t word = 0; word < length; ++word) {
      const auto& [source, target] = kWords[random.below(std::size(kWords))];
      corpus.source += std::string(word > 0 ? " " : "") + source;
      corpus.target += std::string(word > 0 ? " " : "") + target;
    }
    corpus.source += '\n';
    corpus.target += '\n';
  }
  return corpus;
}

ToyFolder::ToyFolder() {
  const std::pair<const char*, int> sets[] = {{"train", 600}, {"valid", 20}, {"test", 40}};
  int seed = 1;
  for (const auto& [name, pairs] : sets) {
    const ToyCorpus corpus = toy_corpus(pairs, seed++);
    write(std::string(name) + ".src", corpus.source);
    write(std::string(name) + ".trg", corpus.target);
  }
}

std::vector<std::string> ToyFolder::train_command(const std::string& model,
                                                  const std::vector<std::string>& more) const {
  const TemporaryFolder& folder = *this;
  std::vector<std::vector<std::string>> options = {
      {"--train-sets", folder / "train.src", folder / "train.trg"},
      {"--valid-sets", folder / "valid.src", folder / "valid.trg"},
      {"--vocab-size", "64"},
      {"--encoder-layers", "1"},
      {"--decoder-layers", "1"},
      {"--d-model", "32"},
      {"--d-ff", "32"},
      {"--heads", "2"},
      {"--batch-tokens", "256"},
      {"--learning-rate", "0.01"},
      {"--warmup-steps", "20"},
      {"--max-steps", "40"},
      {"--report-every", "10"},
      {"--valid-every", "20"},
      {"--save-every", "5"},
      {"--threads", "1"}};
  std::vector<std::string> command = {"train", "--model", model};
  for (const auto& option : options) {
    if (std::find(more.begin(), more.end(), option[0]) == more.end()) {
      command.insert(command.end(), option.begin(), option.end());
    }
  }
  command.insert(command.end(), more.begin(), more.end());
  return command;
}

const ToyFolder& trained_toy() {
  static const std::unique_ptr<const ToyFolder> toy = [] {
    auto folder = std::make_unique<const ToyFolder>();
    const Outcome outcome = run_filigree(folder->train_command(
        *folder / "model", {"--d-model", "64", "--max-steps", "600", "--valid-every", "200"}));
    if (outcome.exit_code != 0) throw std::runtime_error("the toy training fails: " + outcome.err);
    return folder;
  }();
  return *toy;
}

void copy_model(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::create_directory(to);
  for (const char* name :
       {"config.json", "model.safetensors", "shared.spm", "generation_config.json"}) {
    std::filesystem::copy(from / name, to / name);
  }
}

}  // namespace filigree::test
