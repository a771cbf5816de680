#include "filigree/translate/phrase_graph.h"

#include <algorithm>

namespace filigree::translate {

int PhraseGraph::add_node() {
  next_.emplace_back();
  completing_.emplace_back();
  return static_cast<int>(next_.size()) - 1;
}

void PhraseGraph::add_edge(int from, int token, int to) {
  next_[from].emplace(token, to);
  if (to == kEnd) completing_[from].push_back(token);
}

void PhraseGraph::add_path(std::span<const int> tokens) {
  int node = kStart;
  for (const int token : tokens.first(tokens.size() - 1)) {
    const int next = add_node();
    add_edge(node, token, next);
    node = next;
  }
  add_edge(node, tokens.back(), kEnd);
}

PhraseGraph::Matches PhraseGraph::advance(const Matches& matches, int token) const {
  Matches result{{}, false};
  const auto follow = [&](int node) {
    const auto [begin, end] = next_[node].equal_range(token);
    for (auto edge = begin; edge != end; ++edge) {
      if (edge->second == kEnd) {
        result.complete = true;
      } else {
        result.nodes.push_back(edge->second);
      }
    }
  };
  follow(kStart);
  for (const int node : matches.nodes) follow(node);
  std::sort(result.nodes.begin(), result.nodes.end());
  result.nodes.erase(std::unique(result.nodes.begin(), result.nodes.end()), result.nodes.end());
  return result;
}

void PhraseGraph::append_completing_tokens(std::span<const int> tokens,
                                           std::vector<int>& forbidden) const {
  Matches matches;
  for (const int token : tokens) matches = advance(matches, token);
  matches.nodes.push_back(kStart);
  for (const int node : matches.nodes) {
    forbidden.insert(forbidden.end(), completing_[node].begin(), completing_[node].end());
  }
}

bool PhraseGraph::occurs_in(std::span<const int> tokens) const {
  Matches matches;
  for (const int token : tokens) {
    matches = advance(matches, token);
    if (matches.complete) return true;
  }
  return false;
}

}  // namespace filigree::translate
