// Alignments out of the cross-attention: which words of the source a word was made from.
//
// Sparse heads that were chosen for it link a piece of the output with every piece of the source
// that enough of them give a weight above zero: no threshold. Softmax heads, whose weights are
// never zero, and heads that nobody has chosen, which may look anywhere, link it with the piece of
// the largest mean weight. </s> takes part in neither.
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
  /// One link for every piece, the largest mean weight of the heads, instead of their support.
  bool argmax = false;
  /// Of their support: a link is in that of at least so many heads; of all of them where 0.
  int votes = 0;
};

/// Whether the cross-attention is softmax, which has no zeros.
bool has_softmax_attention(const model::ModelConfig& model);

/// The heads of the config, by their support where attention is sparse. Without any, all heads of
/// all layers by their largest mean weight. Throws Error when a head is outside the model or more
/// votes are asked for than there are heads.
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
