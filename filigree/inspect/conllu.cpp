#include "filigree/inspect/conllu.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "filigree/base/error.h"

namespace filigree::inspect {
namespace {

std::vector<std::string_view> split_tabs(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = 0;;) {
    const size_t tab = line.find('\t', begin);
    fields.push_back(line.substr(begin, tab - begin));
    if (tab == std::string_view::npos) return fields;
    begin = tab + 1;
  }
}

std::optional<int32_t> to_number(std::string_view text) {
  int32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

struct Word {
  int32_t token;  ///< that it is (part of)
  int32_t head;   ///< a word, from 1; 0: the root
  std::string label;
};

// The lines of one sentence, as they come.
class ParseBuilder {
 public:
  /// False when the line is not one of CoNLL-U.
  bool add(std::string_view line) {
    const auto fields = split_tabs(line);
    if (fields.size() != 10) return false;
    const std::string_view id = fields[0];
    if (id.find('.') != std::string_view::npos) return true;  // an empty node: not in the text
    if (const size_t dash = id.find('-'); dash != std::string_view::npos) {
      const auto last = to_number(id.substr(dash + 1));
      if (!last) return false;
      parse_.tokens.emplace_back(fields[1]);
      last_of_multiword_ = *last;
      return true;
    }
    const auto number = to_number(id), head = to_number(fields[6]);
    if (!number || !head || *number != static_cast<int32_t>(words_.size()) + 1) return false;
    if (*number > last_of_multiword_) parse_.tokens.emplace_back(fields[1]);
    words_.push_back(
        {static_cast<int32_t>(parse_.tokens.size()) - 1, *head, std::string(fields[7])});
    return true;
  }
  bool empty() const { return words_.empty(); }
  /// False when a head is none of the words.
  bool finish(Parse& parse) {
    for (const Word& word : words_) {
      if (word.head > static_cast<int32_t>(words_.size())) return false;
      if (word.head == 0) continue;
      const int32_t head = words_[static_cast<size_t>(word.head) - 1].token;
      if (head != word.token) parse_.relations.push_back({word.token, head, word.label});
    }
    parse = std::move(parse_);
    return true;
  }

 private:
  Parse parse_;
  std::vector<Word> words_;
  int32_t last_of_multiword_ = 0;
};

}  // namespace

ConlluReader::ConlluReader(const std::filesystem::path& file) : reader_(file) {}

std::optional<Parse> ConlluReader::next() {
  ParseBuilder builder;
  const auto fail = [this](const char* what) {
    throw Error("{}:{}: {}; expected CoNLL-U", reader_.path().string(), reader_.line_number(),
                what);
  };
  while (const auto line = reader_.next()) {
    if (line->starts_with('#')) continue;
    if (!line->empty()) {
      if (!builder.add(*line)) fail("not ten fields with ID, HEAD and so on");
      continue;
    }
    if (!builder.empty()) break;
  }
  if (builder.empty()) return std::nullopt;
  Parse parse;
  if (!builder.finish(parse)) fail("the sentence names a head that is none of its words");
  return parse;
}

int32_t RelationTable::Row::best_offset() const {
  if (offsets.empty()) return 0;
  return std::max_element(offsets.begin(), offsets.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

double RelationTable::Row::baseline() const {
  return count == 0 ? 0
                    : static_cast<double>(offsets.at(best_offset())) / static_cast<double>(count);
}

void RelationTable::add(const Parse& parse) {
  for (const Relation& relation : parse.relations) {
    Row& row = rows[relation.label];
    ++row.count;
    ++row.offsets[relation.head - relation.dependent];
  }
}

}  // namespace filigree::inspect
