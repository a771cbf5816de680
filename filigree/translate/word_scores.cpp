#include "filigree/translate/word_scores.h"

namespace filigree::translate {

std::vector<double> word_scores(const Output& output) {
  const std::vector<text::Range> words = text::words_of(output.text);
  const std::vector<text::Range> of_pieces = text::words_of_pieces(words, output.places);
  std::vector<double> scores(words.size() + 1);
  for (size_t i = 0; i < output.token_log_probabilities.size(); ++i) {
    const size_t word = i < of_pieces.size() ? of_pieces[i].begin : words.size();
    scores[word] += output.token_log_probabilities[i];
  }
  return scores;
}

}  // namespace filigree::translate
