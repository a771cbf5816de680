#include "filigree/model/remove_heads.h"

#include <torch/torch.h>

#include <vector>

#include "filigree/base/error.h"

namespace filigree::model {
namespace {

// The heads of a layer that stay.
std::vector<int64_t> kept_heads(const ModelConfig& config, const std::set<HeadPlace>& removed,
                                AttentionBlock block, int64_t layer) {
  std::vector<int64_t> kept;
  for (int64_t head = 0; head < config.heads_of(block, layer); ++head) {
    if (!removed.contains({block, layer, head})) kept.push_back(head);
  }
  if (kept.empty()) {
    throw Error("{} layer {}: cannot lose all its heads", name_of(block), layer + 1);
  }
  return kept;
}

void check(const ModelConfig& config, const HeadPlace& place) {
  const auto& [block, layer, head] = place;
  if (layer < 0 || layer >= config.layers(block) || head < 0 ||
      head >= config.heads_of(block, layer)) {
    throw Error("{} layer {}, head {}: the model has no such head", name_of(block), layer + 1,
                head + 1);
  }
}

// Copies the heads of one layer that stay.
class HeadCopy {
 public:
  HeadCopy(int64_t heads, const std::vector<int64_t>& kept)
      : heads_(heads), kept_(torch::tensor(kept, at::kLong)) {}

  /// Tensors whose elements are [parts, heads, …] in memory.
  void operator()(const at::Tensor& from, const at::Tensor& to, int64_t parts) const {
    to.view({parts, kept_.numel(), -1})
        .copy_(from.reshape({parts, heads_, -1}).index_select(1, kept_));
  }
  void operator()(const Linear& from, const Linear& to, int64_t parts) const {
    (*this)(from.weight, to.weight, parts);
    (*this)(from.bias, to.bias, parts);
  }
  /// What all kinds of attention have.
  template <typename Layer>
  void common(const Layer& from, const Layer& to) const {
    (*this)(from.output.weight, to.output.weight, from.output.weight.size(0));
    if (from.alpha_logit.defined()) (*this)(from.alpha_logit, to.alpha_logit, 1);
  }
  void copy(const SelfAttention& from, const SelfAttention& to) const {
    (*this)(from.qkv, to.qkv, 3);
    common(from, to);
  }
  void copy(const CrossAttention& from, const CrossAttention& to) const {
    (*this)(from.query, to.query, 1);
    (*this)(from.key_value, to.key_value, 2);
    common(from, to);
  }

 private:
  int64_t heads_;
  at::Tensor kept_;
};

}  // namespace

Transformer without_heads(const Transformer& model, const std::set<HeadPlace>& heads) {
  const torch::NoGradGuard no_grad;
  const ModelConfig& before = model.config();
  for (const HeadPlace& place : heads) check(before, place);
  ModelConfig config = before;
  std::array<std::vector<HeadCopy>, 3> copies;
  for (const AttentionBlock block : kAttentionBlocks) {
    const auto b = static_cast<size_t>(block);
    bool all_there = true;
    std::vector<int64_t> left;
    for (int64_t layer = 0; layer < config.layers(block); ++layer) {
      const std::vector<int64_t> kept = kept_heads(before, heads, block, layer);
      copies[b].emplace_back(before.heads_of(block, layer), kept);
      left.push_back(static_cast<int64_t>(kept.size()));
      all_there &= left.back() == config.heads;
    }
    if (all_there) left.clear();
    config.heads_left[b] = std::move(left);
  }

  Transformer smaller(config, model.parameters().values().scalar_type());
  for (const ParameterSpec& spec : smaller.parameters().specs()) {
    const at::Tensor &from = model.parameters()[spec.name], &to = smaller.parameters()[spec.name];
    if (from.sizes() == to.sizes()) to.copy_(from);
  }
  const auto& [encoder, cross, decoder] = copies;
  for (size_t i = 0; i < encoder.size(); ++i) {
    encoder[i].copy(model.encoder()[i].self_attention, smaller.encoder()[i].self_attention);
  }
  for (size_t i = 0; i < decoder.size(); ++i) {
    const DecoderLayer &from = model.decoder()[i], &to = smaller.decoder()[i];
    decoder[i].copy(from.self_attention, to.self_attention);
    cross[i].copy(from.cross_attention, to.cross_attention);
  }
  return smaller;
}

}  // namespace filigree::model
