// What the statistics need to know about the tokens of a sentence: which pieces form a word, and
// which are marks, punctuation, rare words or part of a question.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "filigree/text/tokenizer.h"

namespace filigree::inspect {

/// One side of a sentence as the model sees it: </s> ends a source, <s> begins a decoder's input.
/// Vectors with one entry a position, unless said otherwise.
struct Tokens {
  std::vector<std::string> pieces;  ///< as SentencePiece writes them
  /// The word of each piece; −1 for <s> and </s>. Words are what spaces separate, less the
  /// punctuation at their edges, which stands alone ("mat." is two words, "well-known" is one).
  std::vector<int32_t> word;
  std::vector<int32_t> space_word;  ///< the same with spaces alone: the words of alignments
  std::vector<bool> mark;           ///< <s> or </s>
  std::vector<bool> punctuation;
  std::vector<bool> rare;           ///< in one of the two rarest words; see mark_rare_words()
  std::vector<bool> interrogative;  ///< in a question word
  int32_t question_mark = -1;       ///< the piece of a final question mark
  std::vector<std::string> words;   ///< one a word

  int32_t size() const { return static_cast<int32_t>(pieces.size()); }
  int32_t word_count() const { return static_cast<int32_t>(words.size()); }
  /// The pieces of every word.
  std::vector<std::vector<int32_t>> pieces_of_words() const;
};

/// Words that ask: compared in lower case.
using QuestionWords = std::unordered_set<std::string>;
/// Those of English.
QuestionWords english_question_words();

/// The pieces of ids.
std::vector<std::string> pieces_of(const text::Tokenizer& tokenizer, const std::vector<int>& ids);

/// The ids of pieces, the other way round.
class PieceIds {
 public:
  explicit PieceIds(const text::Tokenizer& tokenizer);
  /// Throws Error on a piece that the tokenizer does not have.
  std::vector<int> of(const std::vector<std::string>& pieces) const;

 private:
  std::unordered_map<std::string, int> ids_;
};

/// From the pieces of a line; adds </s>.
Tokens source_tokens(const std::vector<std::string>& pieces, const QuestionWords& question_words);
/// The decoder's input for the pieces of a line; adds <s>.
Tokens target_tokens(const std::vector<std::string>& pieces);

/// How often every word occurs in a text.
class WordCounts {
 public:
  void add(const Tokens& tokens);
  int64_t count(const std::string& word) const;

 private:
  std::unordered_map<std::string, int64_t> counts_;
};

/// Marks the two rarest words that are not punctuation, the earlier of equally rare ones, in
/// sentences of three such words or more.
void mark_rare_words(Tokens& tokens, const WordCounts& counts);

}  // namespace filigree::inspect
