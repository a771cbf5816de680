#include "filigree/inspect/attended_model.h"

#include <torch/torch.h>

#include "filigree/base/blas.h"
#include "filigree/model/model_directory.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/translate_ids.h"

namespace filigree::inspect {

struct AttendedModel::State {
  model::Model model;
  translate::SearchOptions search;
};

AttendedModel::AttendedModel(const std::filesystem::path& directory) {
  translate::SearchOptions search = translate::load_generation_config(directory).search;
  search.n_best = 1;
  model::Model model = model::load_model(directory);
  translate::suppress_special_tokens(search, model.tokenizers.target);
  state_ = std::make_unique<const State>(State{std::move(model), std::move(search)});
  at::set_num_threads(1);
  set_blas_threads(1);
}

AttendedModel::~AttendedModel() = default;
AttendedModel::AttendedModel(AttendedModel&&) noexcept = default;

const model::ModelConfig& AttendedModel::config() const {
  return state_->model.transformer.config();
}
const text::Tokenizer& AttendedModel::source_tokenizer() const {
  return state_->model.tokenizers.source;
}
const text::Tokenizer& AttendedModel::target_tokenizer() const {
  return state_->model.tokenizers.target;
}

std::vector<std::vector<double>> AttendedModel::alpha(AttentionBlock block) const {
  const torch::NoGradGuard no_grad;
  std::vector<std::vector<double>> layers;
  for (int64_t layer = 0; layer < config().layers(block); ++layer) {
    const at::Tensor alpha =
        state_->model.transformer.alpha(block, layer).to(at::kDouble).contiguous();
    layers.emplace_back(alpha.data_ptr<double>(), alpha.data_ptr<double>() + alpha.numel());
  }
  return layers;
}

std::vector<SentenceAttention> AttendedModel::attend(std::span<const IdPair> pairs) const {
  const torch::NoGradGuard no_grad;
  const model::ModelConfig& c = config();
  std::vector<std::span<const int32_t>> sources, targets;
  for (const IdPair& pair : pairs) {
    sources.emplace_back(pair.source);
    targets.emplace_back(pair.target);
  }
  std::vector<SentenceAttention> sentences(pairs.size());
  for (SentenceAttention& sentence : sentences) {
    for (const AttentionBlock block : model::kAttentionBlocks) {
      sentence.of(block).resize(static_cast<size_t>(c.layers(block)));
    }
  }
  model::ForwardOptions options;
  options.recorder = [&](const model::AttentionRecord& record) {
    const at::Tensor weights = record.weights.contiguous();
    const auto queries = static_cast<int32_t>(weights.size(1));
    const auto keys = static_cast<int32_t>(weights.size(2));
    LayerAttention& layer = sentences[static_cast<size_t>(record.sentence)].of(
        record.block)[static_cast<size_t>(record.layer)];
    for (int64_t head = 0; head < weights.size(0); ++head) {
      layer.emplace_back(weights.data_ptr<float>() + head * queries * keys, queries, keys);
    }
  };
  const model::Transformer& transformer = state_->model.transformer;
  const model::Sequences source = model::pack(sources, -1, c.source_eos);
  const model::Sequences target = model::pack(targets, c.target_bos, -1);
  transformer.decode(target, transformer.encode(source, options), source, options);
  return sentences;
}

std::vector<std::vector<int>> AttendedModel::translate(
    const std::vector<std::span<const int>>& sources, int threads) const {
  std::vector<std::vector<int>> translations;
  for (auto& hypotheses : translate::translate_ids(state_->model.transformer, sources,
                                                   state_->search, {.threads = threads})) {
    translations.push_back(std::move(hypotheses.front().tokens));
  }
  return translations;
}

}  // namespace filigree::inspect
