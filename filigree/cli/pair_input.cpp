#include "filigree/cli/pair_input.h"

#include <algorithm>

#include "filigree/base/error.h"

namespace filigree::cli {

void PairInput::check() const {
  if (tsv && files.size() > 1) throw UsageError("--tsv takes one file, got {}", files.size());
  if (!tsv && files.size() != 2) {
    throw UsageError("expected two files, source and target, got {} (or one with --tsv)",
                     files.size());
  }
  if (std::count(files.begin(), files.end(), "-") > 1) {
    throw UsageError("only one of the files can be standard input");
  }
}

void add_pair_options(Command& command, PairInput& input) {
  command.group("Input");
  command.require(command.option("-m,--model", input.model, "Model directory")->type_name("DIR"));
  command
      .option("files", input.files,
              "Source and target, a sentence a line, may be gzip; - for standard input")
      ->type_name("FILE FILE");
  command.flag("--tsv", input.tsv,
               "One file of lines SOURCE<tab>TARGET, standard input when none is given");
}

void add_pair_speed_options(Command& command, PairInput& input, translate::ScorerOptions& scorer) {
  command.group("Speed");
  command.add_threads_option();
  at_least(command.option("--mini-batch", scorer.mini_batch, "Most pairs in a batch"), 1);
  at_least(command.option("--mini-batch-words", scorer.mini_batch_words,
                          "Most pieces of a side in a batch"),
           1);
  at_least(
      command.option("--chunk-lines", input.chunk_lines, "Lines read before the first is written"),
      1);
}

void for_each_chunk(const PairInput& input,
                    const std::function<void(const std::vector<text::SentencePair>&)>& take) {
  text::CorpusSource source{.tsv = input.tsv};
  source.source = input.files.empty() ? "-" : input.files[0];
  if (!input.tsv) source.target = input.files.at(1);
  text::PairReader reader(source);
  for (bool more = true; more;) {
    std::vector<text::SentencePair> pairs;
    while (more && static_cast<int>(pairs.size()) < input.chunk_lines) {
      auto pair = reader.next();
      more = pair.has_value();
      if (more) pairs.push_back(std::move(*pair));
    }
    take(pairs);
  }
}

}  // namespace filigree::cli
