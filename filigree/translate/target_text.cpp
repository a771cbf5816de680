#include "filigree/translate/target_text.h"

#include <unicode/uchar.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "filigree/base/error.h"
#include "filigree/translate/spacing.h"

namespace filigree::translate {
namespace {

constexpr std::string_view kSpace = "\xE2\x96\x81";  // ▁

/// The byte that a byte piece such as <0xE2> stands for.
std::optional<unsigned char> byte_of(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || piece.back() != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(piece.data() + 3, piece.data() + 5, value, 16);
  if (error != std::errc() || end != piece.data() + 5) return std::nullopt;
  return static_cast<unsigned char>(value);
}

bool ends_in_punctuation(std::string_view piece) {
  const auto last = static_cast<UChar32>(last_character(piece));
  constexpr uint32_t kMask = U_GC_P_MASK | U_GC_S_MASK;
  return !piece.ends_with(kSpace) && (U_MASK(u_charType(last)) & kMask) != 0;
}

std::string_view without_space(std::string_view spelled) {
  if (spelled.starts_with(kSpace)) spelled.remove_prefix(kSpace.size());
  return spelled;
}

}  // namespace

TargetText::TargetText(text::Tokenizer tokenizer) : tokenizer_(std::move(tokenizer)) {
  bytes_.fill(-1);
  for (int id = 0; id < tokenizer_.size(); ++id) {
    if (id == tokenizer_.pad() || id == tokenizer_.unk() || id == tokenizer_.bos() ||
        id == tokenizer_.eos()) {
      continue;
    }
    std::string piece = tokenizer_.piece(id);
    if (const auto byte = byte_of(piece)) {
      bytes_[*byte] = id;
    } else {
      pieces_.emplace_back(std::move(piece), id);
    }
  }
  std::sort(pieces_.begin(), pieces_.end());
  for (const auto& [piece, id] : pieces_) ids_.emplace(piece, id);
}

std::vector<int> TargetText::encode(std::string_view text) const {
  std::vector<int> tokens = tokenizer_.encode(text);
  if (std::find(tokens.begin(), tokens.end(), tokenizer_.unk()) != tokens.end()) {
    throw Error("\"{}\" has a character that is not in the model's vocabulary", text);
  }
  return tokens;
}

std::string TargetText::spell(const std::vector<int>& tokens) const {
  std::string spelled;
  for (const int token : tokens) {
    const std::string piece = tokenizer_.piece(token);
    if (const auto byte = byte_of(piece)) {
      spelled += static_cast<char>(*byte);
    } else {
      spelled += piece;
    }
  }
  return spelled;
}

std::vector<std::pair<int, size_t>> TargetText::pieces_at(std::string_view spelled) const {
  std::vector<std::pair<int, size_t>> found;
  const int byte = bytes_[static_cast<unsigned char>(spelled[0])];
  if (byte >= 0) found.emplace_back(byte, 1);
  for (size_t size = 1; size <= spelled.size(); ++size) {
    const auto piece = ids_.find(spelled.substr(0, size));
    if (piece != ids_.end()) found.emplace_back(piece->second, size);
  }
  return found;
}

std::vector<int> TargetText::cut(std::string_view spelled) const {
  std::vector<int> tokens;
  while (!spelled.empty()) {
    const auto pieces = pieces_at(spelled);
    if (pieces.empty()) return {};
    tokens.push_back(pieces.back().first);
    spelled.remove_prefix(pieces.back().second);
  }
  return tokens;
}

void TargetText::add_banned(std::string_view phrase, PhraseGraph& graph) const {
  const std::vector<int> tokens = tokenizer_.encode(phrase);
  if (tokens.empty() || std::find(tokens.begin(), tokens.end(), tokenizer_.unk()) != tokens.end()) {
    return;
  }
  const std::string spelled = std::string(kSpace) + std::string(without_space(spell(tokens)));
  const size_t word = kSpace.size();
  if (spelled.size() == word) return;
  std::map<size_t, int> nodes;  // By the bytes that are spelled so far.
  const auto node_at = [&](size_t place) {
    if (place == spelled.size()) return PhraseGraph::kEnd;
    const auto [node, added] = nodes.try_emplace(place);
    if (added) node->second = graph.add_node();
    return node->second;
  };
  const auto add_edges = [&](int from, size_t place) {
    for (const auto& [token, size] : pieces_at(std::string_view(spelled).substr(place))) {
      graph.add_edge(from, token, node_at(place + size));
    }
  };
  add_edges(PhraseGraph::kStart, 0);
  add_edges(PhraseGraph::kBeginning, word);
  if (written_without_spaces(first_character(std::string_view(spelled).substr(word)))) {
    add_edges(PhraseGraph::kStart, word);
  }
  // Ascending, so that the nodes that a node leads to come after it.
  for (auto node = nodes.begin(); node != nodes.end(); ++node) add_edges(node->second, node->first);
}

PhraseGraph TargetText::banned(std::span<const std::string> phrases) const {
  PhraseGraph graph;
  for (const std::string& phrase : phrases) add_banned(phrase, graph);
  for (const auto& [piece, id] : pieces_) {
    if (ends_in_punctuation(piece)) {
      graph.add_edge(PhraseGraph::kStart, id, PhraseGraph::kBeginning);
    }
  }
  return graph;
}

RequiredPhrase TargetText::required(std::string_view phrase) const {
  const std::vector<int> tokens = encode(phrase);
  if (tokens.empty()) throw Error("\"{}\" is blank", phrase);
  const std::string spelled = spell(tokens);
  const std::string_view word = without_space(spelled);
  RequiredPhrase ways = {tokens};
  std::vector<int> other;
  if (written_without_spaces(first_character(word))) {
    if (word.size() < spelled.size()) other = cut(word);
  } else if (word.size() == spelled.size()) {  // The tokenizer puts no space in front of a line.
    other = cut(std::string(kSpace) + spelled);
  }
  if (!other.empty()) ways.push_back(std::move(other));
  return ways;
}

TargetText::Prefix TargetText::prefix(std::string_view text) const {
  Prefix prefix{encode(text), {}};
  if (prefix.tokens.empty()) return prefix;
  const auto begin_with = [&](const std::string& start) {
    for (auto piece = std::lower_bound(pieces_.begin(), pieces_.end(), std::pair(start, 0));
         piece != pieces_.end() && piece->first.starts_with(start); ++piece) {
      if (prefix.next.empty() || piece->second != prefix.next.front()) {
        prefix.next.push_back(piece->second);
      }
    }
  };
  if (u_isUWhiteSpace(static_cast<UChar32>(last_character(text)))) {
    prefix.next = {tokenizer_.eos()};
    begin_with(std::string(kSpace));
  } else if (const std::string last = tokenizer_.piece(prefix.tokens.back()); !byte_of(last)) {
    prefix.next = {prefix.tokens.back()};
    prefix.tokens.pop_back();
    begin_with(last);
  }
  return prefix;
}

}  // namespace filigree::translate
