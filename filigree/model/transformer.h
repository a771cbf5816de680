// The Transformer with adaptively sparse attention (Correia, Niculae and Martins, 2019): an
// encoder-decoder whose three attention blocks turn scores into weights by a transform of choice.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "filigree/model/add_norm.h"
#include "filigree/model/config.h"
#include "filigree/model/functions.h"
#include "filigree/model/linear.h"
#include "filigree/model/parameters.h"
#include "filigree/model/sequences.h"

namespace filigree::model {

/// W is the width of the layer's heads together: D, or less where heads were pruned.
struct SelfAttention {
  Linear qkv;              ///< [3W, D]: queries, keys, values
  Linear output;           ///< [D, W]
  at::Tensor alpha_logit;  ///< [H], only where α is learned
  LayerNorm norm;
};

struct CrossAttention {
  Linear query;            ///< [W, D]
  Linear key_value;        ///< [2W, D]: keys, values
  Linear output;           ///< [D, W]
  at::Tensor alpha_logit;  ///< [H], only where α is learned
  LayerNorm norm;
};

struct FeedForward {
  Linear inner;  ///< [d_ff, D]
  Linear outer;  ///< [D, d_ff]
  LayerNorm norm;
};

struct EncoderLayer {
  SelfAttention self_attention;
  FeedForward feed_forward;
};

struct DecoderLayer {
  SelfAttention self_attention;
  CrossAttention cross_attention;
  FeedForward feed_forward;
};

/// How often attention weights were above zero, and out of how many (query, key) pairs: per block,
/// layer and head.
struct AttentionCounts {
  explicit AttentionCounts(const ModelConfig& config);
  /// nonzero / pairs; 0 when nothing was counted.
  double density(AttentionBlock block, int64_t layer, int64_t head) const;
  void add(const AttentionCounts& other);

  int64_t heads;
  std::array<std::vector<int64_t>, 3> nonzero;  ///< by block: [layers · heads]
  std::array<int64_t, 3> pairs{};               ///< by block, the same for each layer and head
};

/// What the heads of one layer looked at in one sentence.
struct AttentionRecord {
  AttentionBlock block;
  int64_t layer;
  int64_t sentence;    ///< index in the batch
  at::Tensor weights;  ///< [H, queries, keys], before dropout: a view of the forward pass's own
};
using AttentionRecorder = std::function<void(const AttentionRecord&)>;

struct ForwardOptions {
  double dropout = 0;                         ///< on embeddings and residual branches
  double attention_dropout = 0;               ///< on attention weights
  uint64_t dropout_key = 0;                   ///< one per forward pass
  Precision precision = Precision::kFloat32;  ///< of the layers' products, not attention's
  AttentionCounts* counts = nullptr;
  AttentionRecorder recorder = {};  ///< called for every block, layer and sentence; may be empty
};

class Transformer {
 public:
  /// Parameters are zero until initialise() or load_parameters().
  explicit Transformer(const ModelConfig& config, at::ScalarType dtype = at::kFloat);
  /// Parameters of the same config, for example a replica for another thread.
  Transformer(const ModelConfig& config, Parameters parameters);
  /// The same model on another device, or, where it is there already, over the same memory.
  Transformer to(at::Device device) const;

  /// Xavier-uniform matrices (gain 1/√2 for queries, keys and values), embeddings N(0, 1/D), α
  /// logits N(0, 1); a function of the seed alone.
  void initialise(uint64_t seed);

  /// source [S tokens] → memory [S, D].
  at::Tensor encode(const Sequences& source, const ForwardOptions& options = {}) const;
  /// Teacher-forced decoder: target input [T tokens], starting with <s> → hidden states [T, D].
  at::Tensor decode(const Sequences& target, const at::Tensor& memory, const Sequences& source,
                    const ForwardOptions& options = {}) const;
  /// The output layer's weight [V, D]: logits = hidden · weightᵀ.
  const at::Tensor& output_weight() const { return output_weight_; }
  /// α of every head of a block's layer, [H] float32 (or float64), with its gradient where learned.
  at::Tensor alpha(AttentionBlock block, int64_t layer) const;

  const ModelConfig& config() const { return config_; }
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }

  const at::Tensor& source_embedding() const { return source_embedding_; }
  const at::Tensor& target_embedding() const { return target_embedding_; }
  const std::vector<EncoderLayer>& encoder() const { return encoder_; }
  const std::vector<DecoderLayer>& decoder() const { return decoder_; }
  const LayerNorm& encoder_norm() const { return encoder_norm_; }
  const LayerNorm& decoder_norm() const { return decoder_norm_; }

 private:
  template <typename Take>
  void build(Take take);
  void bind();
  ModelConfig config_;
  Parameters parameters_;
  at::Tensor source_embedding_, target_embedding_, output_weight_;
  std::vector<EncoderLayer> encoder_;
  std::vector<DecoderLayer> decoder_;
  LayerNorm encoder_norm_, decoder_norm_;
};

}  // namespace filigree::model
