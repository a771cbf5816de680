// BLEU (Papineni et al., 2002): the geometric mean of clipped n-gram precisions times a penalty for
// output that is shorter than the reference. Scores equal those of sacreBLEU 2.6.0 for the same
// settings.
#pragma once

#include <optional>

#include "filigree/evaluate/metric.h"
#include "filigree/evaluate/tokenizers.h"

namespace filigree::evaluate {

/// What to put for the precision of an order without any match (Chen and Cherry, 2014).
enum class Smoothing {
  kExponential,  ///< "exp": 1/2, 1/4, … of one match, halved at each such order (NIST)
  kFloor,        ///< "floor": a small number of matches, 0.1 by default
  kAddK,         ///< "add-k": k, 1 by default, added to matches and totals of all orders above 1
  kNone,         ///< "none": 0, and so the score is 0
};

/// The method's name in signatures and options.
std::string_view to_string(Smoothing smoothing);
/// The opposite of to_string. Throws UsageError that lists the names.
Smoothing smoothing_from_name(std::string_view name);

struct BleuOptions {
  Tokenizer tokenizer = Tokenizer::k13a;
  bool lowercase = false;
  Smoothing smoothing = Smoothing::kExponential;
  /// For floor and add-k; their defaults when absent.
  std::optional<double> smooth_value = {};
  int max_order = 4;  ///< the longest n-grams, ≥ 1
  /// Leaves out orders for which the output is too short, rather than scoring 0. For sentences.
  bool effective_order = false;
};

struct BleuScore {
  double score = 0;  ///< in percent
  /// By order 1, 2, …: n-gram precisions in percent after smoothing, clipped matches and n-grams of
  /// the output before it.
  std::vector<double> precisions;
  std::vector<int64_t> counts, totals;
  double brevity_penalty = 1;  ///< exp(1 − reference length / system length), at most 1
  int64_t system_length = 0;   ///< tokens
  /// Tokens; of several references of a segment the closest in length, the shorter one on a tie.
  int64_t reference_length = 0;

  /// "87.9/75.0/64.8/60.4 (BP = 1.000 ratio = 1.048 hyp_len = 66 ref_len = 63)"
  std::string details() const;
  /// "BLEU = 71.28 " and the details, as sacreBLEU prints it.
  std::string text() const;
};

/// Its counts are: system length, reference length, matches by order, totals by order.
class Bleu : public Metric {
 public:
  /// Throws UsageError when an option is out of range.
  explicit Bleu(const BleuOptions& options = {});

  std::string name() const override { return "BLEU"; }
  std::vector<int64_t> count(std::string_view hypothesis,
                             std::span<const std::string_view> references) const override;
  double score(std::span<const int64_t> counts) const override { return compute(counts).score; }
  std::string details(std::span<const int64_t> counts) const override {
    return compute(counts).details();
  }
  Fields settings() const override;

  BleuScore compute(std::span<const int64_t> counts) const;

 private:
  BleuOptions options_;
};

/// BLEU of a whole test set. Throws as check_sizes does, UsageError on bad options.
BleuScore corpus_bleu(const Segments& hypotheses, const References& references,
                      const BleuOptions& options = {});

/// BLEU of one sentence, always with effective order: without it a sentence of fewer than four
/// tokens would score 0.
BleuScore sentence_bleu(std::string_view hypothesis, const Segments& references,
                        BleuOptions options = {});

}  // namespace filigree::evaluate
