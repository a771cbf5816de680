#include "filigree/inspect/attention_lines.h"

#include <fmt/format.h>

#include <iterator>
#include <nlohmann/json.hpp>

namespace filigree::inspect {
namespace {

// "[" items "]", each written by `write`.
template <typename Items, typename Write>
void write_list(std::string& out, const Items& items, Write write) {
  out += '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out += ',';
    first = false;
    write(item);
  }
  out += ']';
}

void write_head(std::string& out, const SparseAttention& head) {
  out += '[';
  for (int32_t q = 0; q < head.queries(); ++q) {
    if (q > 0) out += ',';
    write_list(out, head.row(q), [&](const SparseAttention::Entry& entry) {
      fmt::format_to(std::back_inserter(out), "{},{:.6g}", entry.key, entry.weight);
    });
  }
  out += ']';
}

}  // namespace

std::string attention_line(int64_t line, const SentenceTokens& tokens,
                           const SentenceAttention& attention) {
  std::string out = fmt::format("{{\"line\":{},\"source\":{},\"target\":{}", line,
                                nlohmann::json(tokens.source.pieces).dump(),
                                nlohmann::json(tokens.target.pieces).dump());
  for (const AttentionBlock block : model::kAttentionBlocks) {
    out += fmt::format(",\"{}\":", name_of(block));
    write_list(out, attention.of(block), [&](const LayerAttention& layer) {
      write_list(out, layer, [&](const SparseAttention& head) { write_head(out, head); });
    });
  }
  return out + "}\n";
}

}  // namespace filigree::inspect
