#include "filigree/evaluate/chrf.h"

#include <algorithm>

#include "filigree/base/error.h"
#include "filigree/evaluate/ngrams.h"
#include "filigree/evaluate/unicode.h"

namespace filigree::evaluate {
namespace {

bool is_ascii_punctuation(char32_t c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

// Words with one punctuation mark split off: the last character if it is one, else the first.
std::vector<std::u32string_view> words_of(std::u32string_view text) {
  std::vector<std::u32string_view> words;
  for (const auto word : split(text)) {
    if (word.size() > 1 && is_ascii_punctuation(word.back())) {
      words.insert(words.end(), {word.substr(0, word.size() - 1), word.substr(word.size() - 1)});
    } else if (word.size() > 1 && is_ascii_punctuation(word.front())) {
      words.insert(words.end(), {word.substr(0, 1), word.substr(1)});
    } else {
      words.push_back(word);
    }
  }
  return words;
}

std::u32string characters_of(std::u32string_view text, bool whitespace) {
  std::u32string characters(text);
  if (!whitespace) std::erase_if(characters, is_space);
  return characters;
}

// All n-grams of a segment: characters of order 1, 2, …, then words.
class Ngrams {
 public:
  Ngrams(std::string_view segment, const ChrfOptions& options) {
    std::u32string text = decode_utf8(segment);
    if (options.lowercase) text = lower_case(text);
    characters_ = UnitText::of_characters(characters_of(text, options.whitespace));
    for (int n = 1; n <= options.char_order; ++n) counts_.push_back(characters_.count(n));
    if (options.word_order == 0) return;
    words_ = UnitText::of_words(words_of(text));
    for (int n = 1; n <= options.word_order; ++n) counts_.push_back(words_.count(n));
  }
  Ngrams(const Ngrams&) = delete;  // the counts view the texts

  const std::vector<NgramCounts>& counts() const { return counts_; }

 private:
  UnitText characters_, words_;
  std::vector<NgramCounts> counts_;
};

}  // namespace

Chrf::Chrf(const ChrfOptions& options) : options_(options) {
  if (options.char_order < 1) {
    throw UsageError("chrF needs a character n-gram order of at least 1, got {}",
                     options.char_order);
  }
  if (options.word_order < 0) {
    throw UsageError("chrF needs a word n-gram order of at least 0, got {}", options.word_order);
  }
  if (options.beta < 1) throw UsageError("chrF needs a beta of at least 1, got {}", options.beta);
}

std::string Chrf::name() const {
  return fmt::format("chrF{}{}", options_.beta,
                     std::string(static_cast<size_t>(options_.word_order), '+'));
}

std::vector<int64_t> Chrf::count(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const {
  const Ngrams system(hypothesis, options_);
  std::vector<int64_t> best;
  double best_score = -1;
  for (const auto text : references) {
    const Ngrams reference(text, options_);
    std::vector<int64_t> counts;
    for (size_t i = 0; i < system.counts().size(); ++i) {
      const NgramCounts& ours = system.counts()[i];
      const NgramCounts& theirs = reference.counts()[i];
      // An order that the reference is too short for says nothing about the output.
      counts.insert(counts.end(),
                    {theirs.empty() ? 0 : total(ours), total(theirs), matches(ours, theirs)});
    }
    const double value = score(counts);
    if (value > best_score) {
      best_score = value;
      best = std::move(counts);
    }
  }
  return best;
}

double Chrf::score(std::span<const int64_t> counts) const {
  constexpr double kEpsilon = 1e-16;
  const double factor = static_cast<double>(options_.beta) * options_.beta;
  const auto f_score = [factor](double precision, double recall) {
    return (1 + factor) * precision * recall / (factor * precision + recall);
  };
  double sum_of_f = 0, precisions = 0, recalls = 0;
  int orders_with_ngrams = 0;
  for (size_t i = 0; i < counts.size(); i += 3) {
    const auto ours = static_cast<double>(counts[i]), theirs = static_cast<double>(counts[i + 1]),
               matched = static_cast<double>(counts[i + 2]);
    const double precision = ours > 0 ? matched / ours : kEpsilon;
    const double recall = theirs > 0 ? matched / theirs : kEpsilon;
    sum_of_f += precision + recall > 0 ? f_score(precision, recall) : kEpsilon;
    if (ours > 0 && theirs > 0) {
      precisions += precision;
      recalls += recall;
      ++orders_with_ngrams;
    }
  }
  if (options_.eps_smoothing) return 100 * sum_of_f / (options_.char_order + options_.word_order);
  if (precisions + recalls == 0) return 0;
  return 100 * f_score(precisions / orders_with_ngrams, recalls / orders_with_ngrams);
}

Fields Chrf::settings() const {
  return {{"case", options_.lowercase ? "lc" : "mixed"},
          {"eff", options_.eps_smoothing ? "no" : "yes"},
          {"nc", std::to_string(options_.char_order)},
          {"nw", std::to_string(options_.word_order)},
          {"space", options_.whitespace ? "yes" : "no"}};
}

ChrfScore corpus_chrf(const Segments& hypotheses, const References& references,
                      const ChrfOptions& options) {
  const Chrf chrf(options);
  return {chrf.name(), chrf.score(count_segments(chrf, hypotheses, references).sum())};
}

ChrfScore sentence_chrf(std::string_view hypothesis, const Segments& references,
                        const ChrfOptions& options) {
  const Chrf chrf(options);
  return {chrf.name(), chrf.score(count_segment(chrf, hypothesis, references))};
}

}  // namespace filigree::evaluate
