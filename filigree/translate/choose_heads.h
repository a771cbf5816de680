// Which heads of the cross-attention make the best alignments, on text whose translations are
// given.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "filigree/evaluate/links.h"
#include "filigree/translate/alignment.h"
#include "filigree/translate/translation.h"

namespace filigree::translate {

/// The word links of every pair of a text.
using AlignedText = std::vector<evaluate::Links>;

/// Pairs with the attention of all heads.
class AttendedText {
 public:
  explicit AttendedText(const model::ModelConfig& config);

  /// A pair as Scorer gives it with attention.
  void add(const Translation& pair);

  /// One rule for each head and shift: those without shift first.
  std::vector<AlignmentRule> single_heads() const;
  AlignedText links(const AlignmentRule& rule) const;
  /// Source words times target words, of every pair.
  std::vector<int64_t> cells() const;

 private:
  struct Pair {
    std::vector<text::Range> source_words, target_words;  ///< of every piece
    int64_t cells;
    AttentionRows attention;
  };
  int heads_;  ///< of all layers
  bool argmax_;
  std::vector<Pair> pairs_;
};

/// Source and target change places.
void swap_sides(AlignedText& links);

/// Cohen's κ of two alignments, over whether each word of the source is linked with each word of
/// the target: 1 for equal ones, 0 for agreement by chance, which is all that heads that look
/// everywhere can have. cells: see AttendedText.
double agreement(const AlignedText& a, const AlignedText& b, std::span<const int64_t> cells);

/// How good an alignment is; higher is better.
using AlignmentScore = std::function<double(const AlignedText&)>;

/// 1 − AER, see evaluate/alignment_error.h; gold: of every pair.
AlignmentScore accuracy_score(std::vector<evaluate::GoldLinks> gold);
/// agreement() with `links`.
AlignmentScore agreement_score(AlignedText links, std::vector<int64_t> cells);

struct HeadChoice {
  AlignmentRule rule;
  double score = 0;
  std::vector<double> single_scores;  ///< of AttendedText::single_heads()
};

/// The best single head and, as long as that improves the score by more than 0.001, the next best
/// one beside it, with the best number of votes. Of equals the first.
HeadChoice choose_heads(const AttendedText& text, const AlignmentScore& score);

/// Writes the choice into generation_config.json of a model directory.
void save_choice(const HeadChoice& choice, const model::ModelConfig& config,
                 const std::filesystem::path& model_directory);

/// The single heads of a model and of one in the other direction that agree best; their links are
/// those of `reverse`, with source and target in the order of `text`.
AlignedText most_agreed_links(const AttendedText& text, const AttendedText& reverse);

}  // namespace filigree::translate
