#include "filigree/translate/decoder.h"

#include <algorithm>
#include <cmath>

#include "filigree/translate/output_layer.h"
#include "filigree/translate/row_attention.h"

namespace filigree::translate {

Decoder::Decoder(const PackedModel& model, DecoderOptions options)
    : model_(model),
      options_(options),
      encoder_(model),
      cache_(model.config().decoder_layers * 2 * model.config().d_model) {}

TargetVocabulary Decoder::vocabulary() const {
  const model::ModelConfig& config = model_.config();
  return {static_cast<int>(config.target_vocabulary), config.target_bos, config.target_eos};
}

void Decoder::add(int sentence, std::span<const int> source) {
  sentences_[sentence].source.assign(source.begin(), source.end());
  waiting_.push_back(sentence);
}

void Decoder::release(int sentence) {
  const auto found = sentences_.find(sentence);
  for (float* const cell : found->second.cells) cache_.give_back(cell);
  sentences_.erase(found);
}

std::shared_ptr<Buffer> Decoder::take_buffer() {
  for (const auto& buffer : buffers_) {
    if (buffer.use_count() == 1) return buffer;
  }
  return buffers_.emplace_back(std::make_shared<Buffer>());
}

void Decoder::encode_waiting() {
  if (waiting_.empty()) return;
  std::vector<std::span<const int>> sources;
  for (const int number : waiting_) sources.emplace_back(sentences_[number].source);
  const std::shared_ptr<Buffer> memory = take_buffer();
  encoder_.encode(sources, *memory);

  const int64_t stride = model_.config().decoder_layers * 2 * model_.config().d_model;
  const float* token = memory->ensure(0);
  for (const int number : waiting_) {
    Sentence& sentence = sentences_[number];
    sentence.memory = memory;
    for (size_t i = 0; i <= sentence.source.size(); ++i, token += stride) {
      sentence.keys.push_back(token);
    }
  }
  waiting_.clear();
}

void Decoder::follow_parents(std::span<const SearchRow> rows) {
  std::swap(rows_, last_rows_);
  count_ = static_cast<int64_t>(rows.size());
  if (rows_.size() < rows.size()) rows_.resize(rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    Sentence& sentence = sentences_.at(rows[r].sentence);
    rows_[r].sentence = &sentence;
    if (rows[r].parent >= 0) {
      rows_[r].cells = last_rows_[static_cast<size_t>(rows[r].parent)].cells;
    } else {
      rows_[r].cells.clear();
    }
    rows_[r].cells.push_back(sentence.cells.emplace_back(cache_.take()));
  }
  keys_.resize(rows.size());
  lengths_.resize(rows.size());
}

void Decoder::embed(std::span<const SearchRow> rows, float* x) {
  const int64_t width = model_.config().d_model;
  const float scale = std::sqrt(static_cast<float>(width));
  for (size_t r = 0; r < rows.size(); ++r, x += width) {
    const size_t length = rows_[r].cells.size();
    if (positions_.size() < length * static_cast<size_t>(width)) {
      positions_ = model_.positions(static_cast<int64_t>(length));
    }
    embed_row(model_.target_embedding() + rows[r].token * width, scale,
              positions_.data() + static_cast<int64_t>(length - 1) * width, width, x);
  }
}

void Decoder::attend_to_history(int64_t layer, float* x) {
  const PackedSelfAttention& weights = model_.decoder()[static_cast<size_t>(layer)].self_attention;
  const int64_t d_model = model_.config().d_model, heads = weights.heads(),
                width = heads * model_.config().head_size(), place = layer * 2 * d_model;
  residual(model_, weights.norm, x, count_, workspace_, [&](const float* input) {
    float* const qkv = workspace_.products.ensure(count_ * 3 * width);
    float* const context = workspace_.context.ensure(count_ * width);
    multiply({weights.query_key_value, input, d_model, count_, qkv, 3 * width});
    for (int64_t r = 0; r < count_; ++r) {
      const Row& row = rows_[static_cast<size_t>(r)];
      std::copy_n(qkv + r * 3 * width + width, 2 * width, row.cells.back() + place);
      keys_[static_cast<size_t>(r)] = row.cells.data();
      lengths_[static_cast<size_t>(r)] = static_cast<int32_t>(row.cells.size());
    }
    attend({count_, heads, model_.config().head_size(), qkv, 3 * width, keys_.data(), place,
            place + width, lengths_.data(), weights.alpha.data()},
           workspace_.weights, context);
    multiply({weights.output, context, width, count_, x, d_model, Then::kAdd});
  });
}

void Decoder::attend_to_source(int64_t layer, float* x) {
  const PackedCrossAttention& weights =
      model_.decoder()[static_cast<size_t>(layer)].cross_attention;
  const int64_t d_model = model_.config().d_model, heads = weights.heads(),
                width = heads * model_.config().head_size(), place = layer * 2 * d_model;
  residual(model_, weights.norm, x, count_, workspace_, [&](const float* input) {
    float* const query = workspace_.products.ensure(count_ * width);
    float* const context = workspace_.context.ensure(count_ * width);
    multiply({weights.query, input, d_model, count_, query, width});
    for (int64_t r = 0; r < count_; ++r) {
      const Sentence& sentence = *rows_[static_cast<size_t>(r)].sentence;
      keys_[static_cast<size_t>(r)] = sentence.keys.data();
      lengths_[static_cast<size_t>(r)] = static_cast<int32_t>(sentence.keys.size());
    }
    const RowAttention attention = {count_,
                                    heads,
                                    model_.config().head_size(),
                                    query,
                                    width,
                                    keys_.data(),
                                    place,
                                    place + width,
                                    lengths_.data(),
                                    weights.alpha.data()};
    attend(attention, workspace_.weights, context);
    if (options_.attention) keep_attention(layer, attention.pitch());
    multiply({weights.output, context, width, count_, x, d_model, Then::kAdd});
  });
}

/// Room for the cross-attention weights of every row.
void Decoder::prepare_attention(StepScores& scores) {
  const int64_t planes = model_.config().decoder_layers * model_.config().heads;
  attention_begin_.clear();
  int64_t size = 0;
  for (int64_t r = 0; r < count_; ++r) {
    attention_begin_.push_back(size);
    size += planes * static_cast<int64_t>(rows_[static_cast<size_t>(r)].sentence->keys.size());
  }
  attention_begin_.push_back(size);
  if (attention_.size() < static_cast<size_t>(size)) attention_.resize(static_cast<size_t>(size));
  scores.layers = static_cast<int>(model_.config().decoder_layers);
  scores.heads = static_cast<int>(model_.config().heads);
  scores.last_layer_heads = static_cast<int>(model_.decoder().back().cross_attention.heads());
  scores.attention.clear();
  for (size_t r = 0; r < static_cast<size_t>(count_); ++r) {
    scores.attention.emplace_back(attention_.data() + attention_begin_[r],
                                  attention_.data() + attention_begin_[r + 1]);
  }
}

void Decoder::keep_attention(int64_t layer, int64_t pitch) {
  const int64_t planes = model_.config().heads;
  const int64_t heads = model_.decoder()[static_cast<size_t>(layer)].cross_attention.heads();
  for (int64_t r = 0; r < count_; ++r) {
    const int64_t length = lengths_[static_cast<size_t>(r)];
    float* const to =
        attention_.data() + attention_begin_[static_cast<size_t>(r)] + layer * planes * length;
    for (int64_t h = 0; h < heads; ++h) {
      std::copy_n(workspace_.weights.data() + (h * count_ + r) * pitch, length, to + h * length);
    }
    std::fill_n(to + heads * length, (planes - heads) * length, 0.0f);
  }
}

void Decoder::step(std::span<const SearchRow> rows, StepScores& scores) {
  encode_waiting();
  follow_parents(rows);
  if (options_.attention) prepare_attention(scores);
  const int64_t width = model_.config().d_model;
  float* const x = workspace_.hidden.ensure(count_ * width);
  embed(rows, x);
  for (int64_t layer = 0; layer < model_.config().decoder_layers; ++layer) {
    attend_to_history(layer, x);
    attend_to_source(layer, x);
    feed_forward(model_, model_.decoder()[static_cast<size_t>(layer)].feed_forward, x, count_,
                 workspace_);
  }
  const PackedNorm& norm = model_.decoder_norm();
  if (model_.config().pre_norm) {
    layer_norm(x, count_, width, norm.weight.data(), norm.bias.data(), x);
  }
  score_tokens(model_.output(), model_.config().output_alpha, x, count_, scores);
}

}  // namespace filigree::translate
