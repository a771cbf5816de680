// The architecture of a model: plain data, written to config.json of a model directory. A field may
// be added with a default, but never renamed.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace filigree::model {

enum class Transform { kSoftmax, kSparsemax, kEntmax15, kEntmax, kAdaptive };

/// How one attention block turns scores into weights.
struct AttentionTransform {
  Transform transform = Transform::kAdaptive;
  double alpha = 1.5;      ///< for `entmax`: the fixed α, at least 1
  double alpha_min = 1.0;  ///< for `adaptive`: α = min + (max − min) σ(a), a learned per head
  double alpha_max = 2.0;

  bool learned() const { return transform == Transform::kAdaptive; }
  /// The α of the transforms that fix it.
  double fixed_alpha() const;
};

/// The three attention blocks of an encoder-decoder Transformer.
enum class AttentionBlock { kEncoder, kCross, kDecoder };
inline constexpr std::array kAttentionBlocks = {AttentionBlock::kEncoder, AttentionBlock::kCross,
                                                AttentionBlock::kDecoder};
/// "encoder", "cross" or "decoder".
const char* name_of(AttentionBlock block);

struct ModelConfig {
  int64_t encoder_layers = 4;
  int64_t decoder_layers = 4;
  int64_t d_model = 128;
  int64_t d_ff = 256;
  int64_t heads = 4;
  /// What pruning has left of them, by block and layer; of a block without a list all are there.
  std::array<std::vector<int64_t>, 3> heads_left;
  AttentionTransform encoder_attention, cross_attention, decoder_attention;
  /// α of the distribution over the next piece: 1 is softmax, more is α-entmax, which makes most
  /// pieces impossible. The loss in training is the one that belongs to it.
  double output_alpha = 1;
  bool pre_norm = true;  ///< layer norm before each sub-layer, else after the residual
  bool tied_embeddings =
      true;  ///< output layer = target embedding (= source embedding when shared)
  bool shared_vocabulary = true;  ///< one tokenizer and one embedding for both sides
  int64_t source_vocabulary = 0;
  int64_t target_vocabulary = 0;
  int32_t source_eos = 3;  ///< </s>, which ends every source sentence
  int32_t target_bos = 2;  ///< <s>, the decoder's first input
  int32_t target_eos = 3;  ///< </s>, the decoder's last output

  int64_t head_size() const { return d_model / heads; }
  const AttentionTransform& attention(AttentionBlock block) const;
  AttentionTransform& attention(AttentionBlock block);
  int64_t layers(AttentionBlock block) const;
  /// Heads of a block's layer, at least 1 and at most `heads`.
  int64_t heads_of(AttentionBlock block, int64_t layer) const;
  /// Of all blocks and layers.
  int64_t total_heads() const;
};

/// "softmax", "sparsemax", "entmax15", "entmax" or "adaptive"; `option` is named in the UsageError
/// for any other name.
Transform parse_transform(const std::string& name, const std::string& option);
std::string to_string(Transform transform);

/// Sets layers, widths and heads: tiny, small, base or big. Throws UsageError on another name.
void apply_preset(ModelConfig& config, const std::string& preset);

/// Throws UsageError naming the first field that is out of range.
void validate(const ModelConfig& config);

std::string to_json(const ModelConfig& config);
/// Throws Error naming `file` and the key when a key is unknown, absent or of the wrong type.
ModelConfig model_config_from_json(const std::string& text, const std::filesystem::path& file);

}  // namespace filigree::model
