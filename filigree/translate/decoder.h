// Incremental decoding: the model as the step function of a search. A step computes one position of
// every hypothesis; what earlier positions left behind is kept and never moved.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "filigree/model/transformer.h"
#include "filigree/translate/search.h"

namespace filigree::translate {

class Decoder : public StepFunction {
 public:
  /// Encodes the sources (ids without </s>, which it adds) and projects them to the
  /// cross-attention's keys and values. The model (float32) must outlive the decoder and must not
  /// change meanwhile.
  Decoder(const model::Transformer& model, const std::vector<std::span<const int>>& sources);

  TargetVocabulary vocabulary() const override;
  void step(std::span<const SearchRow> rows, StepScores& scores) override;

 private:
  struct Layer {
    std::vector<double> self_alpha, cross_alpha;  ///< [H]
    at::Tensor source;                            ///< [S, 2D], keys and values of all sources
    std::vector<at::Tensor> history;              ///< per step [rows, 3D]: queries, keys and values
  };

  void follow_parents(std::span<const SearchRow> rows);
  at::Tensor embed(std::span<const SearchRow> rows) const;
  at::Tensor attend_to_history(const at::Tensor& qkv, Layer& layer);
  at::Tensor attend_to_source(const at::Tensor& query, const Layer& layer,
                              std::span<const SearchRow> rows);

  const model::Transformer& model_;
  model::Sequences source_;
  std::vector<Layer> layers_;
  /// lineage_[r][t]: the row that held hypothesis r's token in step t. Hypotheses with a common
  /// past share its keys and values, so that a reordered beam copies these few numbers only.
  std::vector<std::vector<int>> lineage_;
  std::vector<float> weights_;  ///< scratch: the attention weights
};

}  // namespace filigree::translate
