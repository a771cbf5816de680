#include "filigree/inspect/tokens.h"

#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <algorithm>

#include "filigree/base/error.h"

namespace filigree::inspect {
namespace {

constexpr std::string_view kSpace = "▁";

std::string_view without_space(std::string_view piece) {
  return piece.starts_with(kSpace) ? piece.substr(kSpace.size()) : piece;
}

bool all_punctuation(std::string_view text) {
  const auto length = static_cast<int32_t>(text.size());
  for (int32_t i = 0; i < length;) {
    UChar32 character;
    U8_NEXT(text.data(), i, length, character);
    if (character < 0 || !(u_ispunct(character) || u_charType(character) == U_MATH_SYMBOL)) {
      return false;
    }
  }
  return !text.empty();
}

std::string lower_case(const std::string& word) {
  std::string lower;
  icu::UnicodeString::fromUTF8(word).toLower().toUTF8String(lower);
  return lower;
}

void append(Tokens& tokens, std::string piece, bool mark) {
  const bool punctuation = !mark && all_punctuation(without_space(piece));
  tokens.pieces.push_back(std::move(piece));
  tokens.mark.push_back(mark);
  tokens.punctuation.push_back(punctuation);
}

// Groups the pieces [begin, end), which no space separates, into words.
void split_at_edges(Tokens& tokens, int32_t begin, int32_t end) {
  int32_t first = begin, last = end;
  while (first < last && tokens.punctuation[static_cast<size_t>(first)]) ++first;
  while (last > first && tokens.punctuation[static_cast<size_t>(last - 1)]) --last;
  for (int32_t i = begin; i < end; ++i) {
    const bool inside = i > first && i < last;
    if (!inside) tokens.words.emplace_back();
    tokens.words.back() += without_space(tokens.pieces[static_cast<size_t>(i)]);
    tokens.word[static_cast<size_t>(i)] = tokens.word_count() - 1;
  }
}

void find_words(Tokens& tokens) {
  const auto size = static_cast<size_t>(tokens.size());
  tokens.word.assign(size, -1);
  tokens.space_word.assign(size, -1);
  tokens.rare.assign(size, false);
  tokens.interrogative.assign(size, false);
  int32_t space_word = -1;
  for (size_t i = 0; i < size;) {
    if (tokens.mark[i]) {
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < size && !tokens.mark[end] && !tokens.pieces[end].starts_with(kSpace)) ++end;
    ++space_word;
    std::fill(tokens.space_word.begin() + static_cast<std::ptrdiff_t>(i),
              tokens.space_word.begin() + static_cast<std::ptrdiff_t>(end), space_word);
    split_at_edges(tokens, static_cast<int32_t>(i), static_cast<int32_t>(end));
    i = end;
  }
}

void find_question(Tokens& tokens, const QuestionWords& question_words) {
  for (int32_t i = tokens.size() - 1; i >= 0; --i) {
    const auto p = static_cast<size_t>(i);
    if (tokens.mark[p]) continue;
    const std::string_view last = without_space(tokens.pieces[p]);
    if (last == "?" || last == "？") tokens.question_mark = i;
    break;
  }
  std::vector<bool> asks;
  for (const std::string& word : tokens.words) {
    asks.push_back(question_words.contains(lower_case(word)));
  }
  for (size_t i = 0; i < tokens.word.size(); ++i) {
    tokens.interrogative[i] = tokens.word[i] >= 0 && asks[static_cast<size_t>(tokens.word[i])];
  }
}

}  // namespace

std::vector<std::vector<int32_t>> Tokens::pieces_of_words() const {
  std::vector<std::vector<int32_t>> pieces_of(words.size());
  for (int32_t i = 0; i < size(); ++i) {
    const int32_t w = word[static_cast<size_t>(i)];
    if (w >= 0) pieces_of[static_cast<size_t>(w)].push_back(i);
  }
  return pieces_of;
}

QuestionWords english_question_words() {
  return {"what", "which", "who", "whom", "whose", "when", "where", "why", "how"};
}

std::vector<std::string> pieces_of(const text::Tokenizer& tokenizer, const std::vector<int>& ids) {
  std::vector<std::string> pieces;
  for (const int id : ids) pieces.push_back(tokenizer.piece(id));
  return pieces;
}

PieceIds::PieceIds(const text::Tokenizer& tokenizer) {
  for (int id = 0; id < tokenizer.size(); ++id) ids_.emplace(tokenizer.piece(id), id);
}

std::vector<int> PieceIds::of(const std::vector<std::string>& pieces) const {
  std::vector<int> ids;
  for (const std::string& piece : pieces) {
    const auto found = ids_.find(piece);
    if (found == ids_.end()) throw Error("the tokenizer has no piece \"{}\"", piece);
    ids.push_back(found->second);
  }
  return ids;
}

Tokens source_tokens(const std::vector<std::string>& pieces, const QuestionWords& question_words) {
  Tokens tokens;
  for (const std::string& piece : pieces) append(tokens, piece, false);
  append(tokens, "</s>", true);
  find_words(tokens);
  find_question(tokens, question_words);
  return tokens;
}

Tokens target_tokens(const std::vector<std::string>& pieces) {
  Tokens tokens;
  append(tokens, "<s>", true);
  for (const std::string& piece : pieces) append(tokens, piece, false);
  find_words(tokens);
  return tokens;
}

void WordCounts::add(const Tokens& tokens) {
  for (const std::string& word : tokens.words) ++counts_[word];
}

int64_t WordCounts::count(const std::string& word) const {
  const auto found = counts_.find(word);
  return found == counts_.end() ? 0 : found->second;
}

void mark_rare_words(Tokens& tokens, const WordCounts& counts) {
  std::vector<int32_t> order;
  for (int32_t w = 0; w < tokens.word_count(); ++w) {
    if (!all_punctuation(tokens.words[static_cast<size_t>(w)])) order.push_back(w);
  }
  if (order.size() < 3) return;
  const auto count = [&](int32_t w) { return counts.count(tokens.words[static_cast<size_t>(w)]); };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return count(a) < count(b); });
  for (size_t i = 0; i < tokens.word.size(); ++i) {
    tokens.rare[i] = tokens.word[i] == order[0] || tokens.word[i] == order[1];
  }
}

}  // namespace filigree::inspect
