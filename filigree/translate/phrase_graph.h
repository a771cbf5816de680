// Finding phrases in a sequence of tokens while it grows, however they are cut into tokens.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

namespace filigree::translate {

/// Phrases as one graph: every path from the start to the end spells a phrase in one of the ways in
/// which it can be cut into tokens. A sequence contains a phrase when some of its consecutive
/// tokens are such a path.
class PhraseGraph {
 public:
  /// Edges from kStart count at every place of a sequence, those from kBeginning where it begins
  /// and wherever an edge leads there. kEnd completes a phrase.
  static constexpr int kStart = 0, kBeginning = 1, kEnd = 2;

  /// Adds an inner node and returns it.
  int add_node();
  void add_edge(int from, int token, int to);
  /// A path of its own for a phrase that is written in one way. Tokens must not be empty.
  void add_path(std::span<const int> tokens);

  /// Appends the tokens that would complete a phrase after `tokens`.
  void append_completing_tokens(std::span<const int> tokens, std::vector<int>& forbidden) const;
  /// Whether the sequence contains a phrase.
  bool occurs_in(std::span<const int> tokens) const;

 private:
  /// Nodes that some suffix of a sequence leads to.
  struct Matches {
    std::vector<int> nodes{kBeginning};
    bool complete = false;  ///< whether a phrase ended at the last token
  };
  Matches advance(const Matches& matches, int token) const;

  /// [node]: token → nodes.
  std::vector<std::unordered_multimap<int, int>> next_{3};
  /// [node]: the tokens that lead to the end.
  std::vector<std::vector<int>> completing_{3};
};

}  // namespace filigree::translate
