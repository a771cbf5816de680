#include "filigree/translate/choose_heads.h"

#include <algorithm>
#include <utility>

#include "filigree/evaluate/alignment_error.h"

namespace filigree::translate {
namespace {

constexpr double kLeastGain = 0.001;

int64_t common(const evaluate::Links& a, const evaluate::Links& b) {
  int64_t count = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) {
      ++count, ++i, ++j;
    } else {
      *i < *j ? ++i : ++j;
    }
  }
  return count;
}

}  // namespace

AttendedText::AttendedText(const model::ModelConfig& config)
    : heads_(static_cast<int>(config.decoder_layers * config.heads)),
      argmax_(has_softmax_attention(config)) {}

void AttendedText::add(const Translation& pair) {
  const Output& output = pair.n_best.front();
  const auto source_words = text::words_of(pair.source.text);
  const auto target_words = text::words_of(output.text);
  pairs_.push_back({text::words_of_pieces(source_words, pair.source.places),
                    text::words_of_pieces(target_words, output.places),
                    static_cast<int64_t>(source_words.size() * target_words.size()),
                    output.attention});
}

std::vector<AlignmentRule> AttendedText::single_heads() const {
  std::vector<AlignmentRule> rules;
  for (const bool shift : {false, true}) {
    for (int head = 0; head < heads_; ++head) rules.push_back({{head}, shift, argmax_});
  }
  return rules;
}

AlignedText AttendedText::links(const AlignmentRule& rule) const {
  AlignedText links;
  for (const Pair& pair : pairs_) {
    links.push_back(
        word_links(piece_links(pair.attention, static_cast<int>(pair.source_words.size()),
                               static_cast<int>(pair.target_words.size()), rule),
                   pair.source_words, pair.target_words));
  }
  return links;
}

std::vector<int64_t> AttendedText::cells() const {
  std::vector<int64_t> cells;
  for (const Pair& pair : pairs_) cells.push_back(pair.cells);
  return cells;
}

void swap_sides(AlignedText& text) {
  for (evaluate::Links& links : text) {
    for (evaluate::Link& link : links) std::swap(link.source, link.target);
    evaluate::make_set(links);
  }
}

double agreement(const AlignedText& a, const AlignedText& b, std::span<const int64_t> cells) {
  double all = 0, observed = 0, expected = 0;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i] == 0) continue;
    const auto n = static_cast<double>(cells[i]), in_a = static_cast<double>(a[i].size()),
               in_b = static_cast<double>(b[i].size()),
               in_both = static_cast<double>(common(a[i], b[i]));
    all += n;
    observed += in_both + (n - in_a - in_b + in_both);
    expected += (in_a * in_b + (n - in_a) * (n - in_b)) / n;
  }
  return all > expected ? (observed - expected) / (all - expected) : 0;
}

AlignmentScore accuracy_score(std::vector<evaluate::GoldLinks> gold) {
  return [gold = std::move(gold)](const AlignedText& text) {
    evaluate::AlignmentCounts counts;
    for (size_t i = 0; i < text.size(); ++i) counts.add(text[i], gold[i]);
    return 1 - counts.error_rate();
  };
}

AlignmentScore agreement_score(AlignedText links, std::vector<int64_t> cells) {
  return [links = std::move(links), cells = std::move(cells)](const AlignedText& text) {
    return agreement(text, links, cells);
  };
}

HeadChoice choose_heads(const AttendedText& text, const AlignmentScore& score) {
  HeadChoice choice;
  const std::vector<AlignmentRule> singles = text.single_heads();
  for (const AlignmentRule& rule : singles) {
    choice.single_scores.push_back(score(text.links(rule)));
  }
  const auto best = std::max_element(choice.single_scores.begin(), choice.single_scores.end());
  choice.rule = singles[static_cast<size_t>(best - choice.single_scores.begin())];
  choice.score = *best;
  for (bool better = true; better;) {
    better = false;
    HeadChoice next = choice;
    for (const AlignmentRule& single : singles) {
      const auto& heads = choice.rule.heads;
      if (single.shift != choice.rule.shift ||
          std::find(heads.begin(), heads.end(), single.heads[0]) != heads.end()) {
        continue;
      }
      AlignmentRule rule = choice.rule;
      rule.heads.push_back(single.heads[0]);
      const auto all = static_cast<int>(rule.heads.size());
      for (int votes = all; votes > (rule.argmax ? all - 1 : 0); --votes) {
        rule.votes = votes == all ? 0 : votes;
        const double value = score(text.links(rule));
        if (value <= std::max(next.score, choice.score + kLeastGain)) continue;
        next.rule = rule;
        next.score = value;
        better = true;
      }
    }
    if (better) choice = std::move(next);
  }
  std::sort(choice.rule.heads.begin(), choice.rule.heads.end());
  return choice;
}

void save_choice(const HeadChoice& choice, const model::ModelConfig& config,
                 const std::filesystem::path& model_directory) {
  GenerationConfig generation = load_generation_config(model_directory);
  generation.alignment_heads.clear();
  const auto heads = static_cast<int>(config.heads);
  for (const int head : choice.rule.heads) {
    generation.alignment_heads.push_back({head / heads, head % heads});
  }
  generation.alignment_votes = choice.rule.votes;
  generation.alignment_shift = choice.rule.shift;
  save_generation_config(model_directory, generation);
}

AlignedText most_agreed_links(const AttendedText& text, const AttendedText& reverse) {
  const std::vector<int64_t> cells = text.cells();
  std::vector<AlignedText> ours, theirs;
  for (const AlignmentRule& rule : text.single_heads()) ours.push_back(text.links(rule));
  for (const AlignmentRule& rule : reverse.single_heads()) {
    theirs.push_back(reverse.links(rule));
    swap_sides(theirs.back());
  }
  size_t best = 0;
  double most = -1;
  for (size_t j = 0; j < theirs.size(); ++j) {
    for (const AlignedText& links : ours) {
      const double value = agreement(links, theirs[j], cells);
      if (value <= most) continue;
      most = value;
      best = j;
    }
  }
  return std::move(theirs[best]);
}

}  // namespace filigree::translate
