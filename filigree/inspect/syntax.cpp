#include "filigree/inspect/syntax.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include <algorithm>

#include "filigree/base/error.h"

namespace filigree::inspect {
namespace {

// NFKC without spaces, as UTF-8.
std::string normalised(const std::string& text) {
  UErrorCode status = U_ZERO_ERROR;
  const icu::Normalizer2* const nfkc = icu::Normalizer2::getNFKCInstance(status);
  if (U_FAILURE(status)) throw Error("ICU has no NFKC: {}", u_errorName(status));
  const icu::UnicodeString normal = nfkc->normalize(icu::UnicodeString::fromUTF8(text), status);
  icu::UnicodeString kept;
  for (int32_t i = 0; i < normal.length(); i = normal.moveIndex32(i, 1)) {
    const UChar32 character = normal.char32At(i);
    if (!u_isUWhiteSpace(character) && character != 0x2581) kept.append(character);  // 0x2581: ▁
  }
  std::string bytes;
  kept.toUTF8String(bytes);
  return bytes;
}

// The token that each looks at most, −1 for none.
std::vector<int32_t> most_looked_at(const SparseAttention& attention, size_t tokens,
                                    const std::vector<int32_t>& token_of_piece) {
  std::vector<double> mass(tokens * tokens);
  for (int32_t q = 0; q < attention.queries(); ++q) {
    const int32_t from = token_of_piece[static_cast<size_t>(q)];
    if (from < 0) continue;
    for (const auto& entry : attention.row(q)) {
      const int32_t to = token_of_piece[static_cast<size_t>(entry.key)];
      if (to >= 0)
        mass[static_cast<size_t>(from) * tokens + static_cast<size_t>(to)] += entry.weight;
    }
  }
  std::vector<int32_t> most(tokens, -1);
  for (size_t from = 0; from < tokens; ++from) {
    const auto row = mass.begin() + static_cast<std::ptrdiff_t>(from * tokens);
    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(tokens));
    if (*best > 0) most[from] = static_cast<int32_t>(best - row);
  }
  return most;
}

}  // namespace

std::optional<std::vector<int32_t>> match_pieces(const Tokens& source, const Parse& parse) {
  std::string text;
  std::vector<int32_t> token_of_byte;
  for (size_t t = 0; t < parse.tokens.size(); ++t) {
    text += normalised(parse.tokens[t]);
    token_of_byte.resize(text.size(), static_cast<int32_t>(t));
  }
  std::vector<int32_t> token_of_piece;
  size_t at = 0;
  for (size_t p = 0; p < source.pieces.size(); ++p) {
    if (source.mark[p]) {
      token_of_piece.push_back(-1);
      continue;
    }
    const std::string piece = normalised(source.pieces[p]);
    if (text.compare(at, piece.size(), piece) != 0) return std::nullopt;
    // A lone '▁' belongs to what follows it.
    token_of_piece.push_back(at < text.size() ? token_of_byte[at] : -1);
    at += piece.size();
  }
  if (at != text.size()) return std::nullopt;
  return token_of_piece;
}

void RelationCounts::operator+=(const RelationCounts& other) {
  total += other.total;
  to_head += other.to_head;
  to_dependent += other.to_dependent;
}

SyntaxCounts measure_syntax(const SparseAttention& attention, const Parse& parse,
                            const std::vector<int32_t>& token_of_piece) {
  const std::vector<int32_t> most = most_looked_at(attention, parse.tokens.size(), token_of_piece);
  std::vector<bool> has_piece(parse.tokens.size());
  for (const int32_t token : token_of_piece) {
    if (token >= 0) has_piece[static_cast<size_t>(token)] = true;
  }
  SyntaxCounts counts;
  for (const Relation& relation : parse.relations) {
    const auto dependent = static_cast<size_t>(relation.dependent);
    const auto head = static_cast<size_t>(relation.head);
    if (!has_piece[dependent] || !has_piece[head]) continue;
    RelationCounts& count = counts[relation.label];
    ++count.total;
    count.to_head += most[dependent] == relation.head;
    count.to_dependent += most[head] == relation.dependent;
  }
  return counts;
}

}  // namespace filigree::inspect
