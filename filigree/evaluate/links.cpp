#include "filigree/evaluate/links.h"

#include <algorithm>
#include <charconv>

#include "filigree/base/error.h"
#include "filigree/base/files.h"

namespace filigree::evaluate {
namespace {

/// One link; `between` receives the character between the two numbers.
Link parse_link(std::string_view text, int first, char& between) {
  Link link;
  const char* const end = text.data() + text.size();
  const auto [middle, source_error] = std::from_chars(text.data(), end, link.source);
  if (source_error == std::errc() && middle < end) {
    between = *middle;
    const auto [rest, target_error] = std::from_chars(middle + 1, end, link.target);
    if (target_error == std::errc() && rest == end && link.source >= first &&
        link.target >= first) {
      return {link.source - first, link.target - first};
    }
  }
  throw Error("'{}' is not a link such as {}-{}", text, first, first + 1);
}

template <typename Take>
void for_each_link(std::string_view line, int first, Take take) {
  constexpr std::string_view kSpaces = " \t\r";
  for (size_t begin = 0; (begin = line.find_first_not_of(kSpaces, begin)) != line.npos;) {
    const std::string_view text = line.substr(begin, line.find_first_of(kSpaces, begin) - begin);
    char between = 0;
    const Link link = parse_link(text, first, between);
    if (!take(link, between))
      throw Error("'{}' is not a link such as {}-{}", text, first, first + 1);
    begin += text.size();
  }
}

template <typename Line, typename Parse>
std::vector<Line> read(const std::filesystem::path& path, int first, Parse parse) {
  std::vector<Line> lines;
  LineReader reader(path);
  while (const auto line = reader.next()) {
    try {
      lines.push_back(parse(*line, first));
    } catch (const Error& error) {
      throw Error("{}:{}: {}", path == "-" ? "standard input" : path.string(), reader.line_number(),
                  error.what());
    }
  }
  return lines;
}

}  // namespace

void make_set(Links& links) {
  std::sort(links.begin(), links.end());
  links.erase(std::unique(links.begin(), links.end()), links.end());
}

Links parse_links(std::string_view line, int first) {
  Links links;
  for_each_link(line, first, [&](const Link& link, char between) {
    links.push_back(link);
    return between == '-';
  });
  make_set(links);
  return links;
}

GoldLinks parse_gold_links(std::string_view line, int first) {
  GoldLinks gold;
  for_each_link(line, first, [&](const Link& link, char between) {
    gold.possible.push_back(link);
    if (between == '-') gold.sure.push_back(link);
    return between == '-' || between == '?' || between == 'p';
  });
  make_set(gold.sure);
  make_set(gold.possible);
  return gold;
}

std::vector<Links> read_links(const std::filesystem::path& path, int first) {
  return read<Links>(path, first, parse_links);
}

std::vector<GoldLinks> read_gold_links(const std::filesystem::path& path, int first) {
  return read<GoldLinks>(path, first, parse_gold_links);
}

std::string format_links(const Links& links) {
  std::string text;
  for (const Link& link : links) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", link.source, link.target);
  }
  return text;
}

}  // namespace filigree::evaluate
