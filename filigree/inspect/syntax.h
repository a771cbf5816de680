// Do heads of the encoder follow syntax? (Voita et al., 2019; Clark et al., 2019)
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "filigree/inspect/conllu.h"
#include "filigree/inspect/sparse_attention.h"
#include "filigree/inspect/tokens.h"

namespace filigree::inspect {

/// The token of a parse that each piece belongs to (that of its first character), −1 for </s>.
/// Nothing when the parse is of another text, compared without spaces after NFKC.
std::optional<std::vector<int32_t>> match_pieces(const Tokens& source, const Parse& parse);

/// How often a head's largest weight finds the other end of a relation.
struct RelationCounts {
  int64_t total = 0;
  int64_t to_head = 0;       ///< the dependent looks at its head most
  int64_t to_dependent = 0;  ///< the head looks at its dependent most

  void operator+=(const RelationCounts& other);
};
/// By label.
using SyntaxCounts = std::map<std::string, RelationCounts>;

/// Attention between tokens: to a token, the sum over its pieces; from a token, the mean over its
/// pieces. The largest weight is sought among tokens, itself included, </s> excluded. Relations
/// with a token that no piece begins in are left out.
SyntaxCounts measure_syntax(const SparseAttention& attention, const Parse& parse,
                            const std::vector<int32_t>& token_of_piece);

}  // namespace filigree::inspect
