#include "filigree/inspect/report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "filigree/inspect/embedded_files.h"
#include "filigree/inspect/encoded_attention.h"

namespace filigree::inspect {
namespace {

using Json = nlohmann::ordered_json;

// JSON inside a script element must not end it.
std::string in_script(const Json& json) {
  std::string text = json.dump();
  for (size_t at = text.find("</"); at != std::string::npos; at = text.find("</", at + 3)) {
    text.insert(at + 1, 1, '\\');
  }
  return text;
}

Json tokens_json(const Tokens& tokens) {
  return {{"pieces", tokens.pieces}, {"word", tokens.word}};
}

// What is known of each sentence but its weights.
Json sentences_json(const Inspection& inspection) {
  Json sentences = Json::array();
  for (size_t i = 0; i < inspection.models.front().shown.size(); ++i) {
    Json sentence = {{"line", inspection.models.front().shown[i].line}, {"models", Json::array()}};
    for (const ModelInspection& model : inspection.models) {
      sentence["models"].push_back({{"source", tokens_json(model.shown[i].source)},
                                    {"target", tokens_json(model.shown[i].target)}});
    }
    sentences.push_back(std::move(sentence));
  }
  return sentences;
}

// An element for each sentence and model, so that a browser decodes those that are looked at only.
std::string weights_html(const Inspection& inspection) {
  std::string html;
  for (size_t m = 0; m < inspection.models.size(); ++m) {
    const auto& shown = inspection.models[m].shown;
    for (size_t i = 0; i < shown.size(); ++i) {
      html += fmt::format(
          "<script type=\"application/octet-stream\" id=\"weights-{}-{}\">{}</script>\n", m, i,
          encode(shown[i].attention));
    }
  }
  return html;
}

std::string content_of(const std::string& placeholder, const Inspection& inspection,
                       const Json& numbers) {
  if (placeholder == "numbers") return in_script(numbers);
  if (placeholder == "sentences") return in_script(sentences_json(inspection));
  if (placeholder == "weights") return weights_html(inspection);
  return std::string(embedded_files().at(placeholder));
}

}  // namespace

std::string report_html(const Inspection& inspection, const Json& numbers) {
  // In the page {{name}} stands for a file, or for data.
  const std::string_view page = embedded_files().at("report.html");
  std::string html;
  for (size_t at = 0;;) {
    const size_t begin = page.find("{{", at);
    html += page.substr(at, begin - at);
    if (begin == std::string_view::npos) return html;
    const size_t end = page.find("}}", begin);
    html += content_of(std::string(page.substr(begin + 2, end - begin - 2)), inspection, numbers);
    at = end + 2;
  }
}

}  // namespace filigree::inspect
