#include "filigree/evaluate/bleu.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "filigree/base/error.h"
#include "filigree/evaluate/ngrams.h"
#include "filigree/evaluate/unicode.h"

namespace filigree::evaluate {
namespace {

UnitText tokens_of(std::string_view segment, const BleuOptions& options) {
  return UnitText::of_words(
      split(tokenize(decode_utf8(segment), options.tokenizer, options.lowercase)));
}

// The value that the method works with; only floor and add-k use one.
double smooth_value(const BleuOptions& options) {
  return options.smooth_value.value_or(options.smoothing == Smoothing::kFloor ? 0.1 : 1.0);
}

bool takes_value(Smoothing smoothing) {
  return smoothing == Smoothing::kFloor || smoothing == Smoothing::kAddK;
}

double brevity_penalty(int64_t system_length, int64_t reference_length) {
  if (system_length >= reference_length) return 1;
  if (system_length == 0) return 0;
  return std::exp(1 - static_cast<double>(reference_length) / static_cast<double>(system_length));
}

int64_t closest_length(int64_t length, const std::vector<UnitText>& references) {
  const auto closest = std::min_element(references.begin(), references.end(),
                                        [length](const UnitText& a, const UnitText& b) {
                                          return std::pair(std::abs(a.size() - length), a.size()) <
                                                 std::pair(std::abs(b.size() - length), b.size());
                                        });
  return closest->size();
}

// exp(mean of log precisions); any precision of 0 makes the mean 0.
double geometric_mean(std::span<const double> precisions) {
  double sum = 0;
  for (const double precision : precisions) {
    if (precision == 0) return 0;
    sum += std::log(precision);
  }
  return std::exp(sum / static_cast<double>(precisions.size()));
}

}  // namespace

std::string_view to_string(Smoothing smoothing) {
  switch (smoothing) {
    case Smoothing::kExponential:
      return "exp";
    case Smoothing::kFloor:
      return "floor";
    case Smoothing::kAddK:
      return "add-k";
    case Smoothing::kNone:
      break;
  }
  return "none";
}

Smoothing smoothing_from_name(std::string_view name) {
  for (const auto smoothing :
       {Smoothing::kExponential, Smoothing::kFloor, Smoothing::kAddK, Smoothing::kNone}) {
    if (to_string(smoothing) == name) return smoothing;
  }
  throw UsageError("unknown BLEU smoothing '{}': use exp, floor, add-k or none", name);
}

std::string BleuScore::details() const {
  const double ratio = reference_length == 0 ? 0
                                             : static_cast<double>(system_length) /
                                                   static_cast<double>(reference_length);
  std::string text;
  for (const double precision : precisions) {
    text += fmt::format("{}{:.1f}", text.empty() ? "" : "/", precision);
  }
  return text + fmt::format(" (BP = {:.3f} ratio = {:.3f} hyp_len = {} ref_len = {})",
                            brevity_penalty, ratio, system_length, reference_length);
}

std::string BleuScore::text() const { return fmt::format("BLEU = {:.2f} {}", score, details()); }

Bleu::Bleu(const BleuOptions& options) : options_(options) {
  if (options.max_order < 1) {
    throw UsageError("BLEU needs an n-gram order of at least 1, got {}", options.max_order);
  }
  if (!options.smooth_value) return;
  if (!takes_value(options.smoothing)) {
    throw UsageError("BLEU smoothing '{}' takes no value; use floor or add-k",
                     to_string(options.smoothing));
  }
  if (!(*options.smooth_value > 0) || !std::isfinite(*options.smooth_value)) {
    throw UsageError("BLEU smoothing needs a value above 0, got {}", *options.smooth_value);
  }
}

std::vector<int64_t> Bleu::count(std::string_view hypothesis,
                                 std::span<const std::string_view> references) const {
  const UnitText system = tokens_of(hypothesis, options_);
  std::vector<UnitText> reference_tokens;
  for (const auto reference : references)
    reference_tokens.push_back(tokens_of(reference, options_));

  const auto orders = static_cast<size_t>(options_.max_order);
  std::vector<int64_t> counts(2 + 2 * orders);
  counts[0] = system.size();
  counts[1] = closest_length(system.size(), reference_tokens);
  for (size_t n = 0; n < orders; ++n) {
    const int order = static_cast<int>(n) + 1;
    // A match is clipped at the most often that any one reference has the n-gram.
    NgramCounts most;
    for (const auto& reference : reference_tokens) {
      for (const auto& [ngram, count] : reference.count(order)) {
        int64_t& known = most[ngram];
        known = std::max(known, count);
      }
    }
    counts[2 + n] = matches(system.count(order), most);
    counts[2 + orders + n] = std::max<int64_t>(system.size() - order + 1, 0);
  }
  return counts;
}

Fields Bleu::settings() const {
  std::string smoothing(to_string(options_.smoothing));
  if (takes_value(options_.smoothing)) smoothing += fmt::format("[{:.2f}]", smooth_value(options_));
  Fields settings{{"case", options_.lowercase ? "lc" : "mixed"},
                  {"eff", options_.effective_order ? "yes" : "no"},
                  {"tok", std::string(to_string(options_.tokenizer))},
                  {"smooth", smoothing}};
  if (options_.max_order != 4) settings.emplace_back("order", std::to_string(options_.max_order));
  return settings;
}

BleuScore Bleu::compute(std::span<const int64_t> counts) const {
  const auto orders = static_cast<size_t>(options_.max_order);
  const auto matched = counts.subspan(2, orders), totals = counts.subspan(2 + orders, orders);
  BleuScore result;
  result.system_length = counts[0];
  result.reference_length = counts[1];
  result.brevity_penalty = brevity_penalty(counts[0], counts[1]);
  result.counts.assign(matched.begin(), matched.end());
  result.totals.assign(totals.begin(), totals.end());
  result.precisions.assign(orders, 0.0);
  // Smoothing is for gaps among matches; it does not make a score of nothing.
  if (std::all_of(matched.begin(), matched.end(), [](int64_t count) { return count == 0; })) {
    return result;
  }

  const double value = smooth_value(options_);
  double halvings = 1;
  size_t effective_order = options_.effective_order ? 0 : orders;
  for (size_t n = 0; n < orders; ++n) {
    const double added = options_.smoothing == Smoothing::kAddK && n > 0 ? value : 0;
    double correct = static_cast<double>(matched[n]) + added;
    const double total = static_cast<double>(totals[n]) + added;
    if (total == 0) break;
    if (options_.effective_order) effective_order = n + 1;
    if (correct == 0 && options_.smoothing == Smoothing::kExponential) {
      halvings *= 2;
      correct = 1 / halvings;
    } else if (correct == 0 && options_.smoothing == Smoothing::kFloor) {
      correct = value;
    }
    result.precisions[n] = 100 * correct / total;
  }
  result.score =
      result.brevity_penalty * geometric_mean(std::span(result.precisions).first(effective_order));
  return result;
}

BleuScore corpus_bleu(const Segments& hypotheses, const References& references,
                      const BleuOptions& options) {
  const Bleu bleu(options);
  return bleu.compute(count_segments(bleu, hypotheses, references).sum());
}

BleuScore sentence_bleu(std::string_view hypothesis, const Segments& references,
                        BleuOptions options) {
  options.effective_order = true;
  const Bleu bleu(options);
  return bleu.compute(count_segment(bleu, hypothesis, references));
}

}  // namespace filigree::evaluate
