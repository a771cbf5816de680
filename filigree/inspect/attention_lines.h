// Attention as lines of JSON: one sentence a line, weights above zero only.
#pragma once

#include <cstdint>
#include <string>

#include "filigree/inspect/sparse_attention.h"
#include "filigree/inspect/statistics.h"

namespace filigree::inspect {

/// {"line":1,"source":[pieces],"target":[pieces],"encoder":[layer][head][query],"cross":…,
/// "decoder":…} where a query is its weights above zero as a flat list: key, weight, key, weight, …
/// with six digits. Ends in '\n'.
std::string attention_line(int64_t line, const SentenceTokens& tokens,
                           const SentenceAttention& attention);

}  // namespace filigree::inspect
