#include "filigree/model/transformer.h"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <numbers>

#include "filigree/base/random.h"
#include "filigree/model/attention.h"

namespace filigree::model {
namespace {

// Every place where dropout happens has a number of its own, so that no two share a mask.
enum Site : uint64_t { kSourceEmbedding, kTargetEmbedding, kFirstLayerSite };
constexpr uint64_t kSitesPerLayer = 8;
enum LayerSite : uint64_t { kSelf, kSelfWeights, kCross, kCrossWeights, kFeedForward };

uint64_t encoder_site(int64_t layer, LayerSite site) {
  return kFirstLayerSite + static_cast<uint64_t>(2 * layer) * kSitesPerLayer + site;
}
uint64_t decoder_site(int64_t layer, LayerSite site) {
  return kFirstLayerSite + static_cast<uint64_t>(2 * layer + 1) * kSitesPerLayer + site;
}

template <typename Take>
Linear take_linear(Take& take, const std::string& name, int64_t out, int64_t in) {
  return {take(name + ".weight", {out, in}), take(name + ".bias", {out})};
}

template <typename Take>
LayerNorm take_norm(Take& take, const std::string& name, int64_t width) {
  return {take(name + ".weight", {width}), take(name + ".bias", {width})};
}

template <typename Take>
at::Tensor take_alpha(Take& take, const std::string& name, const AttentionTransform& transform,
                      int64_t heads) {
  return transform.learned() ? take(name + ".alpha_logit", {heads}) : at::Tensor();
}

template <typename Take>
SelfAttention take_self_attention(Take& take, const std::string& name, const ModelConfig& c,
                                  AttentionBlock block, int64_t layer) {
  const int64_t heads = c.heads_of(block, layer), width = heads * c.head_size();
  return {take_linear(take, name + ".qkv", 3 * width, c.d_model),
          take_linear(take, name + ".output", c.d_model, width),
          take_alpha(take, name, c.attention(block), heads),
          take_norm(take, name + ".norm", c.d_model)};
}

template <typename Take>
CrossAttention take_cross_attention(Take& take, const std::string& name, const ModelConfig& c,
                                    int64_t layer) {
  const int64_t heads = c.heads_of(AttentionBlock::kCross, layer), width = heads * c.head_size();
  return {take_linear(take, name + ".query", width, c.d_model),
          take_linear(take, name + ".key_value", 2 * width, c.d_model),
          take_linear(take, name + ".output", c.d_model, width),
          take_alpha(take, name, c.cross_attention, heads),
          take_norm(take, name + ".norm", c.d_model)};
}

template <typename Take>
FeedForward take_feed_forward(Take& take, const std::string& name, const ModelConfig& c) {
  return {take_linear(take, name + ".inner", c.d_ff, c.d_model),
          take_linear(take, name + ".outer", c.d_model, c.d_ff),
          take_norm(take, name + ".norm", c.d_model)};
}

bool ends_with(const std::string& name, const char* suffix) {
  return name.size() >= std::strlen(suffix) &&
         name.compare(name.size() - std::strlen(suffix), std::string::npos, suffix) == 0;
}

double normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log(1 - random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

// The initial value of one element of a parameter.
std::function<double()> initialiser(const ParameterSpec& spec, Random& random) {
  if (ends_with(spec.name, "norm.weight")) return [] { return 1.0; };
  if (ends_with(spec.name, ".bias")) return [] { return 0.0; };
  if (ends_with(spec.name, ".alpha_logit")) return [&random] { return normal(random); };
  if (ends_with(spec.name, "embedding.weight") || spec.name == "output.weight") {
    const double deviation = 1 / std::sqrt(static_cast<double>(spec.shape[1]));
    return [&random, deviation] { return deviation * normal(random); };
  }
  // Small queries and keys, so that scores start small and sparse attention starts dense: heads
  // that see few words from the start learn slowly.
  const bool before_attention = ends_with(spec.name, ".qkv.weight") ||
                                ends_with(spec.name, ".query.weight") ||
                                ends_with(spec.name, ".key_value.weight");
  const double gain = before_attention ? std::numbers::sqrt2 / 2 : 1;
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(spec.shape[0] + spec.shape[1]));
  return [&random, bound] { return bound * (2 * random.uniform() - 1); };
}

int64_t pairs_of(const Sequences& queries, const Sequences& keys, bool causal) {
  const Spans q = queries.spans(), k = keys.spans();
  int64_t pairs = 0;
  for (int64_t s = 0; s < queries.size(); ++s) {
    const int64_t length = q.length[s];
    pairs += causal ? length * (length + 1) / 2 : length * k.length[s];
  }
  return pairs;
}

AttentionOptions attention_options(const ModelConfig& c, const ForwardOptions& options,
                                   AttentionBlock block, int64_t layer, uint64_t site) {
  AttentionOptions attention;
  attention.heads = c.heads_of(block, layer);
  attention.causal = block == AttentionBlock::kDecoder;
  attention.dropout = options.attention_dropout;
  attention.dropout_key = combine(options.dropout_key, site);
  if (options.counts) {
    attention.nonzero =
        options.counts->nonzero[static_cast<size_t>(block)].data() + layer * c.heads;
  }
  if (options.recorder) {
    attention.record = [&options, block, layer](int64_t sentence, const at::Tensor& weights) {
      options.recorder({block, layer, sentence, weights});
    };
  }
  return attention;
}

// The branches that encoder and decoder layers share; x [N, D].
at::Tensor attend_to_itself(const SelfAttention& layer, const at::Tensor& x,
                            const at::Tensor& alpha, const Sequences& sequences,
                            const AttentionOptions& options, Precision precision) {
  return layer.output(self_attention(layer.qkv(x, precision), alpha, sequences, options),
                      precision);
}

at::Tensor feed_forward(const FeedForward& layer, const at::Tensor& x, Precision precision) {
  return feed_forward(layer.inner, layer.outer, x, precision);
}

// What flows through a stack of layers: each branch takes input() and adds to the residual. A norm
// comes before each branch and after the last one (pre-norm), or after each.
class ResidualStream {
 public:
  /// x [N, D]; norms in the order of the branches, in pre-norm with the one that ends the stack.
  ResidualStream(bool pre_norm, const at::Tensor& x, std::vector<const LayerNorm*> norms,
                 const ForwardOptions& options)
      : pre_norm_(pre_norm), norms_(std::move(norms)), options_(options) {
    residual_ = x;
    input_ = pre_norm_ ? next_norm()(x) : x;
  }

  const at::Tensor& input() const { return input_; }

  /// `site` names the branch's dropout mask.
  void add(const at::Tensor& branch, uint64_t site) {
    const Normed step = add_norm(branch, residual_, next_norm(), options_.dropout,
                                 combine(options_.dropout_key, site));
    residual_ = pre_norm_ ? step.sum : step.normed;
    input_ = step.normed;
  }

 private:
  const LayerNorm& next_norm() { return *norms_.at(next_++); }

  bool pre_norm_;
  std::vector<const LayerNorm*> norms_;
  const ForwardOptions& options_;
  at::Tensor residual_, input_;
  size_t next_ = 0;
};

}  // namespace

Sequences pack(const std::vector<std::span<const int32_t>>& sequences, int32_t prefix,
               int32_t suffix) {
  const auto count = static_cast<int64_t>(sequences.size());
  const int extra = (prefix >= 0) + (suffix >= 0);
  int64_t tokens = 0;
  for (const auto& sequence : sequences) tokens += static_cast<int64_t>(sequence.size()) + extra;
  Sequences packed{torch::empty({tokens}, at::kInt), torch::empty({count}, at::kInt),
                   torch::empty({count}, at::kInt)};
  int32_t* const data = packed.tokens.data_ptr<int32_t>();
  int32_t* out = data;
  for (int64_t i = 0; i < count; ++i) {
    const auto& sequence = sequences[static_cast<size_t>(i)];
    packed.begin.data_ptr<int32_t>()[i] = static_cast<int32_t>(out - data);
    packed.length.data_ptr<int32_t>()[i] = static_cast<int32_t>(sequence.size()) + extra;
    if (prefix >= 0) *out++ = prefix;
    out = std::copy(sequence.begin(), sequence.end(), out);
    if (suffix >= 0) *out++ = suffix;
  }
  return packed;
}

AttentionCounts::AttentionCounts(const ModelConfig& config) : heads(config.heads) {
  for (const auto block : kAttentionBlocks) {
    nonzero[static_cast<size_t>(block)].assign(
        static_cast<size_t>(config.layers(block) * config.heads), 0);
  }
}

double AttentionCounts::density(AttentionBlock block, int64_t layer, int64_t head) const {
  const auto b = static_cast<size_t>(block);
  if (pairs[b] == 0) return 0;
  return static_cast<double>(nonzero[b][static_cast<size_t>(layer * heads + head)]) /
         static_cast<double>(pairs[b]);
}

void AttentionCounts::add(const AttentionCounts& other) {
  for (size_t b = 0; b < nonzero.size(); ++b) {
    pairs[b] += other.pairs[b];
    for (size_t i = 0; i < nonzero[b].size(); ++i) nonzero[b][i] += other.nonzero[b][i];
  }
}

template <typename Take>
void Transformer::build(Take take) {
  const ModelConfig& c = config_;
  if (c.shared_vocabulary) {
    source_embedding_ = target_embedding_ =
        take("embedding.weight", {c.source_vocabulary, c.d_model});
  } else {
    source_embedding_ = take("source_embedding.weight", {c.source_vocabulary, c.d_model});
    target_embedding_ = take("target_embedding.weight", {c.target_vocabulary, c.d_model});
  }
  output_weight_ = c.tied_embeddings ? target_embedding_
                                     : take("output.weight", {c.target_vocabulary, c.d_model});
  encoder_.clear();
  decoder_.clear();
  for (int64_t i = 0; i < c.encoder_layers; ++i) {
    const std::string name = fmt::format("encoder.layers.{}", i);
    encoder_.push_back(
        {take_self_attention(take, name + ".self_attention", c, AttentionBlock::kEncoder, i),
         take_feed_forward(take, name + ".feed_forward", c)});
  }
  for (int64_t i = 0; i < c.decoder_layers; ++i) {
    const std::string name = fmt::format("decoder.layers.{}", i);
    decoder_.push_back(
        {take_self_attention(take, name + ".self_attention", c, AttentionBlock::kDecoder, i),
         take_cross_attention(take, name + ".cross_attention", c, i),
         take_feed_forward(take, name + ".feed_forward", c)});
  }
  // Post-norm layers end in a norm of their own already.
  if (c.pre_norm) {
    encoder_norm_ = take_norm(take, "encoder.norm", c.d_model);
    decoder_norm_ = take_norm(take, "decoder.norm", c.d_model);
  }
}

void Transformer::bind() {
  build([this](const std::string& name, std::vector<int64_t>) { return parameters_[name]; });
}

Transformer::Transformer(const ModelConfig& config, at::ScalarType dtype) : config_(config) {
  validate(config);
  std::vector<ParameterSpec> specs;
  build([&specs](const std::string& name, std::vector<int64_t> shape) {
    specs.push_back({name, std::move(shape)});
    return at::Tensor();
  });
  parameters_ = Parameters(std::move(specs), dtype);
  bind();
}

Transformer::Transformer(const ModelConfig& config, Parameters parameters)
    : config_(config), parameters_(std::move(parameters)) {
  bind();
}

Transformer Transformer::to(at::Device device) const {
  return Transformer(config_, parameters_.with_values(parameters_.values().to(device)));
}

void Transformer::initialise(uint64_t seed) {
  const torch::NoGradGuard no_grad;
  uint64_t index = 0;
  for (const ParameterSpec& spec : parameters_.specs()) {
    Random random(combine(seed, index++));
    const auto draw = initialiser(spec, random);
    at::Tensor values = torch::empty(spec.shape, at::kDouble);
    double* const data = values.data_ptr<double>();
    for (int64_t i = 0; i < values.numel(); ++i) data[i] = draw();
    parameters_[spec.name].detach().copy_(values);
  }
}

at::Tensor Transformer::alpha(AttentionBlock block, int64_t layer) const {
  const AttentionTransform& transform = config_.attention(block);
  if (!transform.learned()) {
    return torch::full({config_.heads_of(block, layer)}, transform.fixed_alpha(),
                       parameters_.values().scalar_type());
  }
  const auto i = static_cast<size_t>(layer);
  const at::Tensor& logit =
      block == AttentionBlock::kEncoder ? encoder_[i].self_attention.alpha_logit
      : block == AttentionBlock::kCross ? decoder_[i].cross_attention.alpha_logit
                                        : decoder_[i].self_attention.alpha_logit;
  return transform.alpha_min + (transform.alpha_max - transform.alpha_min) * torch::sigmoid(logit);
}

at::Tensor Transformer::encode(const Sequences& source, const ForwardOptions& options) const {
  const at::Tensor embedded = embed(source, source_embedding_, options.dropout,
                                    combine(options.dropout_key, kSourceEmbedding));
  if (options.counts) {
    options.counts->pairs[static_cast<size_t>(AttentionBlock::kEncoder)] +=
        pairs_of(source, source, false);
  }
  std::vector<const LayerNorm*> norms;
  for (const EncoderLayer& layer : encoder_) {
    norms.insert(norms.end(), {&layer.self_attention.norm, &layer.feed_forward.norm});
  }
  norms.push_back(&encoder_norm_);
  ResidualStream x(config_.pre_norm, embedded, std::move(norms), options);
  for (int64_t i = 0; i < config_.encoder_layers; ++i) {
    const EncoderLayer& layer = encoder_[static_cast<size_t>(i)];
    x.add(attend_to_itself(layer.self_attention, x.input(), alpha(AttentionBlock::kEncoder, i),
                           source,
                           attention_options(config_, options, AttentionBlock::kEncoder, i,
                                             encoder_site(i, kSelfWeights)),
                           options.precision),
          encoder_site(i, kSelf));
    x.add(feed_forward(layer.feed_forward, x.input(), options.precision),
          encoder_site(i, kFeedForward));
  }
  return x.input();
}

at::Tensor Transformer::decode(const Sequences& target, const at::Tensor& memory,
                               const Sequences& source, const ForwardOptions& options) const {
  const at::Tensor embedded = embed(target, target_embedding_, options.dropout,
                                    combine(options.dropout_key, kTargetEmbedding));
  if (options.counts) {
    options.counts->pairs[static_cast<size_t>(AttentionBlock::kDecoder)] +=
        pairs_of(target, target, true);
    options.counts->pairs[static_cast<size_t>(AttentionBlock::kCross)] +=
        pairs_of(target, source, false);
  }
  std::vector<const LayerNorm*> norms;
  for (const DecoderLayer& layer : decoder_) {
    norms.insert(norms.end(), {&layer.self_attention.norm, &layer.cross_attention.norm,
                               &layer.feed_forward.norm});
  }
  norms.push_back(&decoder_norm_);
  ResidualStream x(config_.pre_norm, embedded, std::move(norms), options);
  for (int64_t i = 0; i < config_.decoder_layers; ++i) {
    const DecoderLayer& layer = decoder_[static_cast<size_t>(i)];
    x.add(attend_to_itself(layer.self_attention, x.input(), alpha(AttentionBlock::kDecoder, i),
                           target,
                           attention_options(config_, options, AttentionBlock::kDecoder, i,
                                             decoder_site(i, kSelfWeights)),
                           options.precision),
          decoder_site(i, kSelf));
    const CrossAttention& cross = layer.cross_attention;
    x.add(cross.output(cross_attention(cross.query(x.input(), options.precision),
                                       cross.key_value(memory, options.precision),
                                       alpha(AttentionBlock::kCross, i), target, source,
                                       attention_options(config_, options, AttentionBlock::kCross,
                                                         i, decoder_site(i, kCrossWeights))),
                       options.precision),
          decoder_site(i, kCross));
    x.add(feed_forward(layer.feed_forward, x.input(), options.precision),
          decoder_site(i, kFeedForward));
  }
  return x.input();
}

}  // namespace filigree::model
