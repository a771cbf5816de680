// Alignments out of the cross-attention: which words of the source a word was made from.
//
// A few heads decide, with the mean of their weights. Where attention is sparse, a piece of the
// output is linked with every piece of the source that has a weight above zero: no threshold. Where
// it is softmax, which never is zero, with the one of the largest weight. </s> takes part in
// neither.
#pragma once

#include <span>
#include <vector>

#include "filigree/evaluate/links.h"
#include "filigree/model/config.h"
#include "filigree/translate/attention_row.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/translation.h"

namespace filigree::translate {

/// Which weights are an alignment.
struct AlignmentRule {
  std::vector<int> heads;  ///< layer · heads + head
  /// A token's links come from the step that it is the input of, the one after it was predicted
  /// (Chen et al., 2020, "Accurate Word Alignment Induction from Neural Machine Translation").
  bool shift = false;
  bool argmax = false;  ///< one link for every piece, for softmax
};

/// The heads of the config, or what stands in for them: the mean of all heads of the last layer but
/// one (of the only layer). Throws Error when a head is outside the model.
AlignmentRule alignment_rule(const model::ModelConfig& model, const GenerationConfig& config);

/// rows: one for every output piece and one for the end. Returns positions of pieces.
evaluate::Links piece_links(const AttentionRows& rows, int source_pieces, int target_pieces,
                            const AlignmentRule& rule);

/// Words are linked when any of their pieces are, see text::words_of().
evaluate::Links word_links(const evaluate::Links& piece_links,
                           std::span<const text::Range> words_of_source_pieces,
                           std::span<const text::Range> words_of_target_pieces);

/// The word links of one of a line's translations.
evaluate::Links word_links(const Source& source, const Output& output);

}  // namespace filigree::translate
