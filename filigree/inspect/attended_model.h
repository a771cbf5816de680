// A trained model whose attention can be read. Needs no LibTorch header.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "filigree/inspect/sparse_attention.h"
#include "filigree/text/tokenizer.h"

namespace filigree::inspect {

/// The ids of a sentence and its translation, without <s> and </s>.
struct IdPair {
  std::vector<int> source, target;
};

class AttendedModel {
 public:
  /// Throws Error naming the file when the directory is not a whole model. Sets LibTorch's and
  /// OpenBLAS's threads to 1: callers have several sentences at a time in threads of their own.
  explicit AttendedModel(const std::filesystem::path& directory);
  ~AttendedModel();
  AttendedModel(AttendedModel&&) noexcept;

  const model::ModelConfig& config() const;
  const text::Tokenizer& source_tokenizer() const;
  const text::Tokenizer& target_tokenizer() const;
  /// α of every head of a block, [layer][head].
  std::vector<std::vector<double>> alpha(AttentionBlock block) const;

  /// Everything the model looks at while it reads the sources and is given the targets. May be
  /// called from several threads.
  std::vector<SentenceAttention> attend(std::span<const IdPair> pairs) const;
  /// The model's own translations, by its generation_config.json.
  std::vector<std::vector<int>> translate(const std::vector<std::span<const int>>& sources,
                                          int threads) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace filigree::inspect
