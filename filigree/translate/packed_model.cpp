#include "filigree/translate/packed_model.h"

#include <torch/torch.h>

#include "filigree/model/transformer.h"

namespace filigree::translate {
namespace {

using model::AttentionBlock;

std::vector<double> to_doubles(const at::Tensor& alpha) {
  const at::Tensor values = alpha.to(at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

at::Tensor plain(const at::Tensor& tensor) { return tensor.detach().contiguous(); }

std::shared_ptr<const std::vector<float>> copy(const at::Tensor& tensor) {
  const at::Tensor values = plain(tensor);
  const float* const data = values.data_ptr<float>();
  return std::make_shared<const std::vector<float>>(data, data + values.numel());
}

PackedMatrix pack(const model::Linear& linear, Precision precision) {
  const at::Tensor weight = plain(linear.weight), bias = plain(linear.bias);
  return {weight.data_ptr<float>(), bias.data_ptr<float>(), weight.size(0), weight.size(1),
          precision};
}

PackedNorm pack(const model::LayerNorm& norm) {
  if (!norm.weight.defined()) return {};
  const at::Tensor weight = plain(norm.weight), bias = plain(norm.bias);
  const float *w = weight.data_ptr<float>(), *b = bias.data_ptr<float>();
  return {{w, w + weight.numel()}, {b, b + bias.numel()}};
}

PackedSelfAttention pack(const model::SelfAttention& layer, const at::Tensor& alpha,
                         Precision precision) {
  return {pack(layer.qkv, precision), pack(layer.output, precision), to_doubles(alpha),
          pack(layer.norm)};
}

PackedCrossAttention pack(const model::CrossAttention& layer, const at::Tensor& alpha,
                          Precision precision) {
  return {pack(layer.query, precision), pack(layer.key_value, precision),
          pack(layer.output, precision), to_doubles(alpha), pack(layer.norm)};
}

PackedFeedForward pack(const model::FeedForward& layer, Precision precision) {
  return {pack(layer.inner, precision), pack(layer.outer, precision), pack(layer.norm)};
}

}  // namespace

PackedModel::PackedModel(const model::Transformer& transformer, Precision precision)
    : config_(transformer.config()),
      encoder_norm_(pack(transformer.encoder_norm())),
      decoder_norm_(pack(transformer.decoder_norm())),
      source_embedding_(copy(transformer.source_embedding())),
      target_embedding_(transformer.target_embedding().is_same(transformer.source_embedding())
                            ? source_embedding_
                            : copy(transformer.target_embedding())) {
  const torch::NoGradGuard no_grad;
  for (int64_t i = 0; i < config_.encoder_layers; ++i) {
    const model::EncoderLayer& layer = transformer.encoder()[static_cast<size_t>(i)];
    encoder_.push_back(
        {pack(layer.self_attention, transformer.alpha(AttentionBlock::kEncoder, i), precision),
         pack(layer.feed_forward, precision)});
  }
  for (int64_t i = 0; i < config_.decoder_layers; ++i) {
    const model::DecoderLayer& layer = transformer.decoder()[static_cast<size_t>(i)];
    decoder_.push_back(
        {pack(layer.self_attention, transformer.alpha(AttentionBlock::kDecoder, i), precision),
         pack(layer.cross_attention, transformer.alpha(AttentionBlock::kCross, i), precision),
         pack(layer.feed_forward, precision)});
  }
  const at::Tensor output = plain(transformer.output_weight());
  output_ = {output.data_ptr<float>(), nullptr, output.size(0), output.size(1), precision};
}

std::vector<float> PackedModel::positions(int64_t length) const {
  const at::Tensor table = model::position_table(length, config_.d_model);
  return {table.data_ptr<float>(), table.data_ptr<float>() + table.numel()};
}

}  // namespace filigree::translate
