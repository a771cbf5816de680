#include "filigree/translate/json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "filigree/translate/alignment.h"
#include "filigree/translate/word_scores.h"

namespace filigree::translate {
namespace {

using Json = nlohmann::ordered_json;

/// The number as short as it can be written to give the same float again.
Json number(float value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{}", value));
}

/// Sums of floats: six decimals, as everywhere.
Json number(double value) {
  if (!std::isfinite(value)) return nullptr;
  return std::stod(fmt::format("{:.6f}", value));
}

template <typename Number>
Json numbers(const std::vector<Number>& values) {
  Json list = Json::array();
  for (const Number value : values) list.push_back(number(value));
  return list;
}

Json spans(const std::string& text, const std::vector<text::Range>& ranges) {
  std::vector<text::Range> trimmed;
  for (const text::Range& range : ranges) trimmed.push_back(text::trim(text, range));
  Json list = Json::array();
  for (const text::Range& range : text::in_code_points(text, trimmed)) {
    list.push_back({range.begin, range.end});
  }
  return list;
}

Json pairs(const evaluate::Links& links) {
  Json list = Json::array();
  for (const evaluate::Link& link : links) list.push_back({link.source, link.target});
  return list;
}

Json attention(const AttentionRows& rows, int heads) {
  Json list = Json::array();
  for (size_t target = 0; target < rows.size(); ++target) {
    for (const AttentionWeight& w : *rows[target]) {
      list.push_back({w.head / heads, w.head % heads, target, w.source, number(w.weight)});
    }
  }
  return list;
}

void add_output(Json& json, const Source& source, const Output& output, int heads) {
  json["translation"] = output.text;
  json["score"] = number(output.score);
  json["log_probability"] = number(output.log_probability);
  json["pieces"] = output.pieces;
  json["piece_spans"] = spans(output.text, output.places);
  json["token_log_probabilities"] = numbers(output.token_log_probabilities);
  json["word_spans"] = spans(output.text, text::words_of(output.text));
  json["word_scores"] = numbers(word_scores(output));
  json["alignment"] = pairs(word_links(source, output));
  json["piece_alignment"] = pairs(output.piece_links);
  if (!output.attention.empty()) json["attention"] = attention(output.attention, heads);
}

}  // namespace

std::string to_json(const Translation& translation, const JsonOptions& options) {
  const Source& source = translation.source;
  Json json;
  json["source"] = source.text;
  json["source_pieces"] = source.pieces;
  json["source_piece_spans"] = spans(source.text, source.places);
  json["source_word_spans"] = spans(source.text, text::words_of(source.text));
  if (!options.n_best) {
    add_output(json, source, translation.n_best.front(), options.heads);
  } else {
    json["n_best"] = Json::array();
    for (const Output& output : translation.n_best) {
      add_output(json["n_best"].emplace_back(), source, output, options.heads);
    }
  }
  return json.dump();
}

}  // namespace filigree::translate
