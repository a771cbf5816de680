#include "filigree/train/pair_loss.h"

namespace filigree::train {

PackedPairs pack_pairs(const text::ParallelCorpus& corpus, std::span<const int32_t> indices,
                       const model::ModelConfig& config) {
  std::vector<std::span<const int32_t>> source, target;
  for (const int32_t index : indices) {
    source.push_back(corpus.source(index));
    target.push_back(corpus.target(index));
  }
  return {model::pack(source, -1, config.source_eos), model::pack(target, config.target_bos, -1),
          model::pack(target, -1, config.target_eos).tokens};
}

at::Tensor pair_loss(const model::Transformer& model, const PackedPairs& pairs,
                     const model::ForwardOptions& options, const model::LossOptions& loss,
                     model::LossSums& sums) {
  const at::Tensor memory = model.encode(pairs.source, options);
  const at::Tensor hidden = model.decode(pairs.target_input, memory, pairs.source, options);
  model::LossOptions of_output = loss;
  of_output.alpha = model.config().output_alpha;
  return model::linear_loss(hidden, model.output_weight(), pairs.gold, of_output, sums);
}

model::LossSums total(const std::vector<model::LossSums>& parts) {
  model::LossSums sums;
  for (const auto& part : parts) {
    sums.loss += part.loss;
    sums.log_likelihood += part.log_likelihood;
    sums.tokens += part.tokens;
  }
  return sums;
}

}  // namespace filigree::train
