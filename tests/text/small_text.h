// A little text and tokenizers trained on it, shared by the tests.
#pragma once

#include <string>
#include <vector>

#include "filigree/text/tokenizer.h"

namespace filigree::test {

/// A few English and German sentences.
inline const std::vector<std::string>& small_text() {
  static const std::vector<std::string> lines = {
      "the cat sits on the mat",      "the dog sits on the cat",
      "a dog and a cat see the mat",  "the man sees the dog",
      "a man and a dog on the mat",   "die Katze sitzt auf der Matte",
      "der Hund sitzt auf der Katze", "ein Hund und eine Katze sehen die Matte",
      "der Mann sieht den Hund",      "ein Mann und ein Hund auf der Matte"};
  return lines;
}

/// A tokenizer of 80 pieces trained on small_text().
inline const text::Tokenizer& small_tokenizer() {
  static const text::Tokenizer tokenizer =
      text::train_tokenizer(small_text(), text::TokenizerOptions{.vocab_size = 80});
  return tokenizer;
}

}  // namespace filigree::test
