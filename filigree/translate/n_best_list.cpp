#include "filigree/translate/n_best_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "filigree/base/error.h"

namespace filigree::translate {
namespace {

constexpr std::string_view kSeparator = " ||| ";

/// The text up to the next separator, which is removed with it.
std::optional<std::string_view> take_field(std::string_view& rest) {
  const size_t end = rest.find(kSeparator);
  if (end == rest.npos) return std::nullopt;
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end + kSeparator.size());
  return field;
}

template <typename Number>
bool parse(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

NBestEntry parse_n_best_entry(std::string_view line) {
  constexpr const char* kExpected = "expected line ||| text ||| features ||| score";
  NBestEntry entry;
  std::string_view rest = line;
  const auto number = take_field(rest);
  const auto text = number ? take_field(rest) : std::nullopt;
  const auto features = text ? take_field(rest) : std::nullopt;
  if (!features) throw Error("is no entry of an n-best list: {}", kExpected);
  if (!parse(*number, entry.line) || entry.line < 0) {
    throw Error("'{}' is not the number of a line; {}", *number, kExpected);
  }
  const std::string_view score = rest.substr(0, rest.find(" |||"));
  if (!parse(score, entry.score)) throw Error("'{}' is not a score; {}", score, kExpected);
  entry.text = *text;
  entry.features = *features;
  entry.rest = rest.substr(score.size());
  return entry;
}

std::string format_n_best_entry(const NBestEntry& entry) {
  return fmt::format("{} ||| {} ||| {} ||| {:.6f}{}", entry.line, entry.text, entry.features,
                     entry.score, entry.rest);
}

void add_feature(NBestEntry& entry, const std::string& name, double value) {
  if ((' ' + entry.features).find(' ' + name + '=') != std::string::npos) {
    throw Error("has a feature {}= already; choose another name", name);
  }
  entry.features += fmt::format("{}{}= {:.6f}", entry.features.empty() ? "" : " ", name, value);
}

void rerank(std::vector<NBestEntry>& entries, const std::vector<double>& scores, double weight) {
  for (size_t i = 0; i < entries.size(); ++i) {
    // A weight of 1 does not multiply what may be −inf by zero.
    entries[i].score =
        weight == 1 ? scores[i] : (1 - weight) * entries[i].score + weight * scores[i];
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const NBestEntry& a, const NBestEntry& b) { return a.score > b.score; });
}

}  // namespace filigree::translate
