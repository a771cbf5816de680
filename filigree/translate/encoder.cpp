#include "filigree/translate/encoder.h"

#include <algorithm>
#include <cmath>

#include "filigree/translate/row_attention.h"

namespace filigree::translate {

void Encoder::embed(const std::vector<std::span<const int>>& sources, float* x) {
  const int64_t width = model_.config().d_model;
  const float scale = std::sqrt(static_cast<float>(width));
  size_t longest = 0;
  for (const auto& source : sources) longest = std::max(longest, source.size() + 1);
  if (positions_.size() < longest * static_cast<size_t>(width)) {
    positions_ = model_.positions(static_cast<int64_t>(longest));
  }
  for (const auto& source : sources) {
    for (size_t t = 0; t <= source.size(); ++t, x += width) {
      const int64_t token = t < source.size() ? source[t] : model_.config().source_eos;
      embed_row(model_.source_embedding() + token * width, scale,
                positions_.data() + static_cast<int64_t>(t) * width, width, x);
    }
  }
}

void Encoder::attend_to_itself(const PackedSelfAttention& layer, float* x) {
  const int64_t d_model = model_.config().d_model, heads = layer.heads(),
                width = heads * model_.config().head_size();
  residual(model_, layer.norm, x, tokens_, workspace_, [&](const float* input) {
    float* const qkv = workspace_.products.ensure(tokens_ * 3 * width);
    float* const context = workspace_.context.ensure(tokens_ * width);
    multiply({layer.query_key_value, input, d_model, tokens_, qkv, 3 * width});
    for (int64_t i = 0; i < tokens_; ++i) {
      keys_[static_cast<size_t>(i)] = qkv + i * 3 * width;
      keys_of_rows_[static_cast<size_t>(i)] = keys_.data() + begins_[static_cast<size_t>(i)];
    }
    attend({tokens_, heads, model_.config().head_size(), qkv, 3 * width, keys_of_rows_.data(),
            width, 2 * width, lengths_.data(), layer.alpha.data()},
           workspace_.weights, context);
    multiply({layer.output, context, width, tokens_, x, d_model, Then::kAdd});
  });
}

void Encoder::encode(const std::vector<std::span<const int>>& sources, Buffer& keys_values) {
  lengths_.clear();
  begins_.clear();
  for (const auto& source : sources) {
    const auto begin = static_cast<int64_t>(lengths_.size());
    lengths_.insert(lengths_.end(), source.size() + 1, static_cast<int32_t>(source.size() + 1));
    begins_.insert(begins_.end(), source.size() + 1, begin);
  }
  tokens_ = static_cast<int64_t>(lengths_.size());
  keys_.resize(lengths_.size());
  keys_of_rows_.resize(lengths_.size());

  const int64_t width = model_.config().d_model;
  float* const x = workspace_.hidden.ensure(tokens_ * width);
  embed(sources, x);
  for (const PackedEncoderLayer& layer : model_.encoder()) {
    attend_to_itself(layer.self_attention, x);
    feed_forward(model_, layer.feed_forward, x, tokens_, workspace_);
  }
  const PackedNorm& norm = model_.encoder_norm();
  if (model_.config().pre_norm) {
    layer_norm(x, tokens_, width, norm.weight.data(), norm.bias.data(), x);
  }
  const int64_t stride = static_cast<int64_t>(model_.decoder().size()) * 2 * width;
  float* to = keys_values.ensure(tokens_ * stride);
  for (const PackedDecoderLayer& layer : model_.decoder()) {
    multiply({layer.cross_attention.key_value, x, width, tokens_, to, stride});
    to += 2 * width;
  }
}

}  // namespace filigree::translate
