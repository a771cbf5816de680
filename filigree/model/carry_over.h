// Starting a model from the weights of another one, which may have another vocabulary, another
// number of layers and other attention transforms.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "filigree/model/model_directory.h"

namespace filigree::model {

/// What carry_over() took.
struct CarriedOver {
  int64_t parameters = 0;          ///< numbers taken, out of those of the new model
  int64_t source_pieces = 0;       ///< rows of the source embedding that were taken
  int64_t target_pieces = 0;       ///< … of the target embedding
  std::vector<std::string> notes;  ///< what was decided where the two models differ, a line each
};

/// Throws Error naming the sizes, there and here, when a model of `config` cannot take weights from
/// one of `old` (read from `old_name`): widths, heads (those of each layer that
/// both have) and the place of the layer norm must agree.
void require_same_widths(const ModelConfig& old, const std::string& old_name,
                         const ModelConfig& config);

/// Replaces the weights of `model`, which is initialised already, by those of `old`, where `old`
/// has such:
///
/// * Embeddings and output layer: the rows of pieces with the same text, and of <pad>, <unk>, <s>
///   and </s>. A shared vocabulary takes a row from the target embedding, else from the source's;
///   separate ones both take theirs from a shared one. An output layer of its own takes its rows
///   from whatever weights were the old output layer.
/// * Layers of the same number. Further layers keep their initial values; layers of `old` without a
///   counterpart are left out.
/// * α of every head, where both learn it, also into another range, as near as that allows. Where
///   only the new model learns it, every head starts at the fixed α, or 1 % of the range inside its
///   ends where that lies outside: 1.01 after softmax for a range of 1 to 2.
///
/// Throws Error as require_same_widths() does.
CarriedOver carry_over(const Model& old, const std::string& old_name, Transformer& model,
                       const Tokenizers& tokenizers);

}  // namespace filigree::model
