// chrF and chrF++ (Popović, 2015 and 2017): F-score over character n-grams and, for chrF++, word
// n-grams as well. Scores equal those of sacreBLEU 2.6.0 for the same settings.
#pragma once

#include "filigree/evaluate/metric.h"

namespace filigree::evaluate {

struct ChrfOptions {
  int char_order = 6;  ///< the longest character n-grams, ≥ 1
  int word_order = 0;  ///< the longest word n-grams: 0 for chrF, 2 for chrF++
  int beta = 2;        ///< recall counts beta times as much as precision, ≥ 1
  bool lowercase = false;
  bool whitespace = false;  ///< let character n-grams span white space
  /// Average F over all orders, with a tiny score for orders without n-grams, as in Popović's own
  /// script; otherwise F of the precision and recall averaged over the orders that have n-grams.
  bool eps_smoothing = false;
};

/// chrF++ with otherwise default options.
inline constexpr ChrfOptions kChrfPlusPlus{.word_order = 2};

struct ChrfScore {
  std::string name;  ///< "chrF2", "chrF2++"
  double score = 0;  ///< in percent
};

/// Its counts are, by order (characters, then words): n-grams of the output, of the reference, and
/// matches. Of several references the one with the best sentence score counts.
class Chrf : public Metric {
 public:
  /// Throws UsageError when an option is out of range.
  explicit Chrf(const ChrfOptions& options = {});

  std::string name() const override;
  std::vector<int64_t> count(std::string_view hypothesis,
                             std::span<const std::string_view> references) const override;
  double score(std::span<const int64_t> counts) const override;
  Fields settings() const override;

 private:
  ChrfOptions options_;
};

/// chrF of a whole test set. Throws as check_sizes does, UsageError on bad options.
ChrfScore corpus_chrf(const Segments& hypotheses, const References& references,
                      const ChrfOptions& options = {});

/// chrF of one sentence.
ChrfScore sentence_chrf(std::string_view hypothesis, const Segments& references,
                        const ChrfOptions& options = {});

}  // namespace filigree::evaluate
