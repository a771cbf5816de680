// A toy translation task: letters in, the same letters in capitals and in reverse out.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

#include "filigree/base/random.h"
#include "filigree/train/options.h"
#include "tests/support/temporary_folder.h"

namespace filigree::train {

struct ToyText {
  std::string source, target;
};

inline ToyText toy_text(int lines, uint64_t seed) {
  Random random(seed);
  ToyText text;
  for (int i = 0; i < lines; ++i) {
    std::string line;
    for (uint64_t n = 2 + random.below(4); n > 0; --n)
      line += static_cast<char>('a' + random.below(6));
    text.source += line + "\n";
    std::reverse(line.begin(), line.end());
    for (char& c : line) c = static_cast<char>(std::toupper(c));
    text.target += line + "\n";
  }
  return text;
}

/// Options for a quick training on it in `folder`, with files written there.
inline TrainOptions toy_options(const test::TemporaryFolder& folder) {
  const ToyText train = toy_text(300, 1), valid = toy_text(20, 2);
  TrainOptions options;
  options.train_sets = {folder.write("train.src", train.source),
                        folder.write("train.tgt", train.target)};
  options.valid_sets = {folder.write("valid.src", valid.source),
                        folder.write("valid.tgt", valid.target)};
  options.model = folder / "model";
  options.tokenizer.vocab_size = 24;
  options.model_config.encoder_layers = options.model_config.decoder_layers = 1;
  options.model_config.d_model = 16;
  options.model_config.d_ff = 32;
  options.model_config.heads = 2;
  options.batch_tokens = 200;
  options.learning_rate = 0.01;
  options.warmup_steps = 10;
  options.max_steps = 12;
  options.valid_every = 5;
  options.report_every = 3;
  options.attention_dropout = 0.1;
  options.threads = 1;
  return options;
}

}  // namespace filigree::train
