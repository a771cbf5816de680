#include "filigree/text/demo_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "filigree/text/words.h"

namespace filigree::text {
namespace {

/// What a word stands for in a number: its group of three digits, and its part there. Words that
/// stand for the same are translations of each other.
struct Meaning {
  enum Part { kHundreds, kHundred, kBelowHundred, kThousand };
  int group;
  Part part;
  bool is_joint = false;  ///< the "and" of forty-and-two
  bool same(const Meaning& other) const { return group == other.group && part == other.part; }
};

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> words;
  for (const Range& word : words_of(text)) {
    words.push_back(text.substr(word.begin, word.end - word.begin));
  }
  return words;
}

bool is_thousand(const std::string& word) {
  return word == "thousand" || word == "mie" || word == "mii";
}
bool is_hundred(const std::string& word) {
  return word == "hundred" || word == "sută" || word == "sute";
}

std::vector<Meaning> meanings_of(const std::vector<std::string>& words) {
  const auto thousand = std::find_if(words.begin(), words.end(), is_thousand);
  std::vector<Meaning> meanings;
  for (auto word = words.begin(); word != words.end(); ++word) {
    const int group = thousand != words.end() && word <= thousand ? 1 : 0;
    const bool before_hundred = word + 1 != words.end() && is_hundred(word[1]);
    const Meaning::Part part = is_thousand(*word)  ? Meaning::kThousand
                               : is_hundred(*word) ? Meaning::kHundred
                               : before_hundred    ? Meaning::kHundreds
                                                   : Meaning::kBelowHundred;
    meanings.push_back({group, part, *word == "și"});
  }
  return meanings;
}

}  // namespace

std::string demo_links(const SentencePair& pair) {
  const std::vector<std::string> source = split(pair.source), target = split(pair.target);
  std::string links;
  const auto add = [&links](size_t i, size_t j, bool sure) {
    links += fmt::format("{}{}{}{}", links.empty() ? "" : " ", i, sure ? '-' : '?', j);
  };
  if (target.size() == 1) {
    for (size_t i = 0; i < source.size(); ++i) add(i, 0, true);
    return links;
  }
  // Weekday, month, day, year; weekday, day, month, year.
  if (pair.source.find(',') != std::string::npos) return "0-0 1-2 2-1 3-3";
  const std::vector<Meaning> source_meanings = meanings_of(source),
                             target_meanings = meanings_of(target);
  for (size_t i = 0; i < source.size(); ++i) {
    for (size_t j = 0; j < target.size(); ++j) {
      if (source_meanings[i].same(target_meanings[j])) add(i, j, !target_meanings[j].is_joint);
    }
  }
  return links;
}

}  // namespace filigree::text
