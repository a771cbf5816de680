// Words of the target language that a user gives, as tokens for a search.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "filigree/text/tokenizer.h"
#include "filigree/translate/phrase_graph.h"
#include "filigree/translate/required_phrases.h"

namespace filigree::translate {

/// The pieces of a tokenizer by what they spell, with '▁' for a space.
class TargetText {
 public:
  explicit TargetText(text::Tokenizer tokenizer);

  TargetText(const TargetText&) = delete;  // ids_ looks into pieces_.
  TargetText(TargetText&&) = default;

  /// Finds the phrases wherever they begin a word: at the beginning, after a space, after
  /// punctuation and, where the first character is of a script without spaces, anywhere; however
  /// they are cut into pieces. A phrase ends where a piece does, hence also inside a longer word
  /// that goes on with another piece. Phrases that the pieces cannot spell are never written
  /// anyway.
  PhraseGraph banned(std::span<const std::string> phrases) const;

  /// The ways to write a phrase after a space (or at the beginning) and, if its first character is
  /// of a script without spaces, inside a text. Throws Error when the pieces cannot spell it.
  RequiredPhrase required(std::string_view phrase) const;

  /// Constraints::prefix and after_prefix for a text to begin with.
  struct Prefix {
    std::vector<int> tokens, next;
  };
  /// A prefix that ends in white space ends a word; without, its last piece may become any piece
  /// that begins like it, and a word may go on. A blank text is no prefix. Throws Error when the
  /// pieces cannot spell it.
  Prefix prefix(std::string_view text) const;

 private:
  void add_banned(std::string_view phrase, PhraseGraph& graph) const;
  /// What the tokenizer makes of a text, never <unk>.
  std::vector<int> encode(std::string_view text) const;
  std::string spell(const std::vector<int>& tokens) const;
  /// Pieces that spell a text, the longest first; nothing when there are none.
  std::vector<int> cut(std::string_view spelled) const;
  /// The pieces that a text begins with, and how many bytes of it they spell.
  std::vector<std::pair<int, size_t>> pieces_at(std::string_view spelled) const;

  text::Tokenizer tokenizer_;
  std::vector<std::pair<std::string, int>> pieces_;  ///< sorted; without special and byte pieces
  std::unordered_map<std::string_view, int> ids_;    ///< of pieces_
  std::array<int, 256> bytes_;  ///< ids of byte pieces, −1 where there is none
};

}  // namespace filigree::translate
