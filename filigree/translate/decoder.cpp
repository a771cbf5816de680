#include "filigree/translate/decoder.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "filigree/entmax/kernels.h"
#include "filigree/translate/row_attention.h"

namespace filigree::translate {
namespace {

using model::AttentionBlock;

std::vector<double> to_doubles(const at::Tensor& alpha) {
  const at::Tensor values = alpha.to(at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

/// A sub-layer in its place between norm and residual.
template <typename Branch>
at::Tensor residual(bool pre_norm, const model::LayerNorm& norm, const at::Tensor& x,
                    Branch branch) {
  if (pre_norm) return branch(norm(x)).add_(x);
  return norm(branch(x).add_(x));
}

/// Logits to log p in place, a row at a time while it is in the cache; −inf where p is 0.
void to_log_probabilities(float* logits, int64_t rows, int64_t size, double alpha) {
  std::vector<float> p(size);
  for (int64_t r = 0; r < rows; ++r, logits += size) {
    float tau = 0;
    entmax_kernels::forward({1, size, size}, logits, alpha, p.data(), &tau);
    if (alpha == 1) {  // τ is log Σ exp z
      for (int64_t i = 0; i < size; ++i) logits[i] -= tau;
    } else {
      for (int64_t i = 0; i < size; ++i) {
        logits[i] = p[i] == 0 ? -std::numeric_limits<float>::infinity() : std::log(p[i]);
      }
    }
  }
}

}  // namespace

Decoder::Decoder(const model::Transformer& model, const std::vector<std::span<const int>>& sources)
    : model_(model), source_(model::pack(sources, -1, model.config().source_eos)) {
  const torch::NoGradGuard no_grad;
  const at::Tensor memory = model.encode(source_);
  TORCH_CHECK(memory.scalar_type() == at::kFloat, "decoding needs a float32 model");
  for (int64_t i = 0; i < model.config().decoder_layers; ++i) {
    layers_.push_back({to_doubles(model.alpha(AttentionBlock::kDecoder, i)),
                       to_doubles(model.alpha(AttentionBlock::kCross, i)),
                       model.decoder()[i].cross_attention.key_value(memory),
                       {}});
  }
}

TargetVocabulary Decoder::vocabulary() const {
  const model::ModelConfig& config = model_.config();
  return {static_cast<int>(config.target_vocabulary), config.target_bos, config.target_eos};
}

void Decoder::follow_parents(std::span<const SearchRow> rows) {
  std::vector<std::vector<int>> lineage(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    if (rows[r].parent >= 0) lineage[r] = lineage_[rows[r].parent];
    lineage[r].push_back(static_cast<int>(r));
  }
  lineage_ = std::move(lineage);
}

at::Tensor Decoder::embed(std::span<const SearchRow> rows) const {
  const auto count = static_cast<int64_t>(rows.size()), position = int64_t(lineage_[0].size()) - 1;
  const int64_t width = model_.config().d_model;
  const at::Tensor positions = model::position_table(position + 1, width);
  const float* const added = positions.data_ptr<float>() + position * width;
  const float* const table = model_.target_embedding().data_ptr<float>();
  const float scale = std::sqrt(static_cast<float>(width));
  at::Tensor x = torch::empty({count, width});
  float* out = x.data_ptr<float>();
  for (const SearchRow& row : rows) {
    const float* const from = table + row.token * width;
    for (int64_t d = 0; d < width; ++d) *out++ = scale * from[d] + added[d];
  }
  return x;
}

at::Tensor Decoder::attend_to_history(const at::Tensor& qkv, Layer& layer) {
  layer.history.push_back(qkv);
  const int64_t rows = qkv.size(0), width = model_.config().d_model;
  const auto length = static_cast<int64_t>(layer.history.size());
  std::vector<const float*> keys(rows * length);
  std::vector<const float* const*> keys_of_row(rows);
  for (int64_t t = 0; t < length; ++t) {
    const float* const step_keys = layer.history[t].data_ptr<float>() + width;
    for (int64_t r = 0; r < rows; ++r) {
      keys[r * length + t] = step_keys + lineage_[r][t] * 3 * width;
    }
  }
  for (int64_t r = 0; r < rows; ++r) keys_of_row[r] = keys.data() + r * length;
  const std::vector<int32_t> lengths(rows, static_cast<int32_t>(length));
  const int64_t heads = model_.config().heads;
  weights_.resize(std::max<size_t>(weights_.size(), heads * rows * length));
  at::Tensor context = torch::empty({rows, width});
  attend({rows, heads, width / heads, qkv.data_ptr<float>(), 3 * width, keys_of_row.data(), width,
          lengths.data(), length, layer.self_alpha.data()},
         weights_.data(), context.data_ptr<float>());
  return context;
}

at::Tensor Decoder::attend_to_source(const at::Tensor& query, const Layer& layer,
                                     std::span<const SearchRow> rows) {
  const auto count = static_cast<int64_t>(rows.size());
  const int64_t width = model_.config().d_model;
  std::vector<const float*> keys(source_.token_count());
  for (int64_t i = 0; i < source_.token_count(); ++i) {
    keys[i] = layer.source.data_ptr<float>() + i * 2 * width;
  }
  std::vector<const float* const*> keys_of_row(count);
  std::vector<int32_t> lengths(count);
  const model::Spans spans = source_.spans();
  for (int64_t r = 0; r < count; ++r) {
    keys_of_row[r] = keys.data() + spans.begin[rows[r].sentence];
    lengths[r] = spans.length[rows[r].sentence];
  }
  const int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  const int64_t heads = model_.config().heads;
  weights_.resize(std::max<size_t>(weights_.size(), heads * count * longest));
  at::Tensor context = torch::empty({count, width});
  attend({count, heads, width / heads, query.data_ptr<float>(), width, keys_of_row.data(), width,
          lengths.data(), longest, layer.cross_alpha.data()},
         weights_.data(), context.data_ptr<float>());
  return context;
}

void Decoder::step(std::span<const SearchRow> rows, StepScores& scores) {
  const torch::NoGradGuard no_grad;
  follow_parents(rows);
  const bool pre_norm = model_.config().pre_norm;
  at::Tensor x = embed(rows);
  for (size_t i = 0; i < layers_.size(); ++i) {
    const model::DecoderLayer& layer = model_.decoder()[i];
    x = residual(pre_norm, layer.self_attention.norm, x, [&](const at::Tensor& y) {
      return layer.self_attention.output(
          attend_to_history(layer.self_attention.qkv(y), layers_[i]));
    });
    x = residual(pre_norm, layer.cross_attention.norm, x, [&](const at::Tensor& y) {
      return layer.cross_attention.output(
          attend_to_source(layer.cross_attention.query(y), layers_[i], rows));
    });
    x = residual(pre_norm, layer.feed_forward.norm, x, [&](const at::Tensor& y) {
      return layer.feed_forward.outer(layer.feed_forward.inner(y).relu_());
    });
  }
  if (pre_norm) x = model_.decoder_norm()(x);

  const auto count = static_cast<int64_t>(rows.size());
  const int64_t size = model_.config().target_vocabulary;
  scores.resize(static_cast<int>(count), static_cast<int>(size));
  float* const values = scores.values(0);
  at::Tensor logits = torch::from_blob(values, {count, size});
  torch::mm_out(logits, x, model_.output_weight().t());
  to_log_probabilities(values, count, size, model_.config().output_alpha);
  for (int r = 0; r < static_cast<int>(count); ++r) {
    scores.find_block_maxima(r);
    scores.log_normaliser(r) = std::isnan(scores.values(r)[0]) ? NAN : 0;
  }
}

}  // namespace filigree::translate
