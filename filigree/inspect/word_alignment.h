// Word alignments in Pharaoh's format, and how far the attention of a head agrees with them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "filigree/inspect/sparse_attention.h"
#include "filigree/inspect/tokens.h"

namespace filigree::inspect {

/// Words are counted from 0 and separated by spaces.
struct Link {
  int32_t source, target;
  bool sure = true;
  bool operator==(const Link&) const = default;
};
using WordAlignment = std::vector<Link>;

/// A line of links such as "0-0 2-1 3p3", where p (or ?) makes a link possible rather than sure.
/// Throws Error naming file and line on anything else.
WordAlignment parse_alignment(const std::string& line, const std::filesystem::path& file,
                              int64_t line_number);

/// What the alignment error rate (Och and Ney, 2000) is made of.
struct AlignmentCounts {
  int64_t predicted = 0;      ///< |A|
  int64_t sure = 0;           ///< |S|
  int64_t hits_sure = 0;      ///< |A ∩ S|
  int64_t hits_possible = 0;  ///< |A ∩ P|, where P includes S

  void operator+=(const AlignmentCounts& other);
  /// 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); 1 when there is nothing to agree on.
  double error_rate() const;
};

/// Which of the decoder's steps stands for a target piece: the one that predicts it, or the next,
/// whose input it is.
enum class AlignmentStep { kOutput, kInput };

/// Links every target word to the source word with the largest weight, summed over the pieces of
/// both (</s> is no word), and compares.
AlignmentCounts measure_alignment(const SparseAttention& attention, const Tokens& target,
                                  const Tokens& source, const WordAlignment& gold,
                                  AlignmentStep step);

/// The largest word + 1 that links name on each side may not exceed the sentence's words: throws
/// Error naming file and line.
void check_alignment(const WordAlignment& alignment, const Tokens& source, const Tokens& target,
                     const std::filesystem::path& file, int64_t line_number);

}  // namespace filigree::inspect
