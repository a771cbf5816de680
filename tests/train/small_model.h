// A model and pairs for gradients that are computed in several ways.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/model/transformer.h"
#include "filigree/text/parallel_corpus.h"
#include "tests/model/small_config.h"

namespace filigree::train {

inline model::Transformer small_model() {
  model::Transformer model(model::small_config(30));
  model.initialise(1);
  return model;
}

inline text::ParallelCorpus random_corpus(int pairs) {
  Random random(5);
  text::ParallelCorpus corpus;
  for (int i = 0; i < pairs; ++i) {
    auto sentence = [&] {
      std::vector<int32_t> ids(1 + random.below(6));
      for (int32_t& id : ids) id = static_cast<int32_t>(4 + random.below(26));
      return ids;
    };
    corpus.add(sentence(), sentence());
  }
  return corpus;
}

/// Batches of these pairs of random_corpus(12).
inline std::vector<text::ParallelCorpus> select_pairs(
    const std::vector<std::vector<int32_t>>& batches) {
  const text::ParallelCorpus corpus = random_corpus(12);
  std::vector<text::ParallelCorpus> selected;
  for (const auto& batch : batches) {
    selected.emplace_back();
    for (const int32_t pair : batch) selected.back().add(corpus.source(pair), corpus.target(pair));
  }
  return selected;
}

/// Largest difference, relative to the largest value.
inline double difference(const at::Tensor& a, const at::Tensor& b) {
  return (a - b).abs().max().item<double>() / b.abs().max().item<double>();
}

}  // namespace filigree::train
