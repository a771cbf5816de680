// All statistics of a model over a text. They add up: those of a text are the sum of those of its
// sentences.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "filigree/inspect/diversity.h"
#include "filigree/inspect/measures.h"
#include "filigree/inspect/syntax.h"
#include "filigree/inspect/word_alignment.h"

namespace filigree::inspect {

/// A sentence pair as the statistics see it.
struct SentenceTokens {
  Tokens source;  ///< ends in </s>
  Tokens target;  ///< the decoder's input, which starts with <s>
  std::optional<WordAlignment> alignment;
  std::optional<Parse> parse;  ///< of the source

  const Tokens& queries(AttentionBlock block) const {
    return block == AttentionBlock::kEncoder ? source : target;
  }
  const Tokens& keys(AttentionBlock block) const {
    return block == AttentionBlock::kDecoder ? target : source;
  }
};

struct LayerStatistics {
  std::vector<HeadStatistics> heads;
  Diversity diversity;
  Mean coverage;  ///< words of the source that some head of this layer looks at (cross-attention)
  std::vector<AlignmentCounts> output_alignment, input_alignment;  ///< by head; see AlignmentStep
  std::vector<SyntaxCounts> syntax;                                ///< by head (encoder)

  void operator+=(const LayerStatistics& other);
  /// The mean of a measure over the heads; nothing where it was not counted.
  std::optional<double> mean(Measure measure) const;
};

struct BlockStatistics {
  std::vector<LayerStatistics> layers;
  HeadStatistics uniform;  ///< of a head that looks at everything alike: what chance gives

  /// The mean over the layers.
  std::optional<double> mean(Measure measure) const;
  double mean_js_by_heads() const;
};

struct Statistics {
  int64_t sentences = 0;
  int64_t source_tokens = 0, target_tokens = 0;
  std::array<BlockStatistics, 3> blocks;
  Mean coverage;                 ///< words of the source that some head of some layer looks at
  int64_t unmatched_parses = 0;  ///< parses of another text than the sentence

  const BlockStatistics& of(AttentionBlock block) const {
    return blocks[static_cast<size_t>(block)];
  }
  /// Adds another text's, of the same model; empty statistics take its shape.
  void operator+=(const Statistics& other);
};

/// Those of one sentence.
Statistics measure_sentence(const SentenceAttention& attention, const SentenceTokens& tokens);

}  // namespace filigree::inspect
