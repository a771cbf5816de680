// The weights of a Transformer as decoding wants them: packed once, for all threads, in the
// precision of choice.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "filigree/model/config.h"
#include "filigree/translate/packed_matrix.h"

namespace filigree::model {
class Transformer;
}

namespace filigree::translate {

struct PackedNorm {
  std::vector<float> weight, bias;  ///< [D]; empty where the model has none
};

struct PackedSelfAttention {
  PackedMatrix query_key_value, output;
  std::vector<double> alpha;  ///< [heads]
  PackedNorm norm;
  int64_t heads() const { return static_cast<int64_t>(alpha.size()); }
};

struct PackedCrossAttention {
  PackedMatrix query, key_value, output;
  std::vector<double> alpha;
  PackedNorm norm;
  int64_t heads() const { return static_cast<int64_t>(alpha.size()); }
};

struct PackedFeedForward {
  PackedMatrix inner, outer;
  PackedNorm norm;
};

struct PackedEncoderLayer {
  PackedSelfAttention self_attention;
  PackedFeedForward feed_forward;
};

struct PackedDecoderLayer {
  PackedSelfAttention self_attention;
  PackedCrossAttention cross_attention;
  PackedFeedForward feed_forward;
};

class PackedModel {
 public:
  /// Of a float32 model, which may go. Embeddings stay float32.
  explicit PackedModel(const model::Transformer& transformer,
                       Precision precision = Precision::kFloat32);

  const model::ModelConfig& config() const { return config_; }
  const std::vector<PackedEncoderLayer>& encoder() const { return encoder_; }
  const std::vector<PackedDecoderLayer>& decoder() const { return decoder_; }
  const PackedNorm& encoder_norm() const { return encoder_norm_; }
  const PackedNorm& decoder_norm() const { return decoder_norm_; }
  const PackedMatrix& output() const { return output_; }
  /// Rows of D numbers by token.
  const float* source_embedding() const { return source_embedding_->data(); }
  const float* target_embedding() const { return target_embedding_->data(); }
  /// Sinusoidal positions: at least `length` rows of D numbers.
  std::vector<float> positions(int64_t length) const;

 private:
  model::ModelConfig config_;
  std::vector<PackedEncoderLayer> encoder_;
  std::vector<PackedDecoderLayer> decoder_;
  PackedNorm encoder_norm_, decoder_norm_;
  PackedMatrix output_;
  std::shared_ptr<const std::vector<float>> source_embedding_, target_embedding_;  ///< maybe one
};

}  // namespace filigree::translate
