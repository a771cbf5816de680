#include "filigree/model/carry_over.h"

#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

#include "filigree/base/error.h"

namespace filigree::model {
namespace {

// How near the ends of its range a learned α may start, as a share of the range: nearer, its
// gradient would all but vanish.
constexpr double kMargin = 0.01;

std::optional<at::Tensor> find(const Parameters& parameters, const std::string& name) {
  for (const ParameterSpec& spec : parameters.specs()) {
    if (spec.name == name) return parameters[name];
  }
  return std::nullopt;
}

// For every piece of `to`, its id in `from`, or -1. Special pieces are known by their role, since
// their text may differ; those that are missing have been added to every tokenizer.
std::vector<int> same_pieces(const text::Tokenizer& from, const text::Tokenizer& to) {
  const auto specials = [](const text::Tokenizer& t) {
    return std::array{t.pad(), t.unk(), t.bos(), t.eos()};
  };
  const std::array old_specials = specials(from), new_specials = specials(to);
  std::unordered_map<std::string, int> ids;
  for (int id = 0; id < from.size(); ++id) {
    if (std::find(old_specials.begin(), old_specials.end(), id) == old_specials.end()) {
      ids.emplace(from.piece(id), id);
    }
  }
  std::vector<int> same(static_cast<size_t>(to.size()), -1);
  for (int id = 0; id < to.size(); ++id) {
    const auto special = std::find(new_specials.begin(), new_specials.end(), id);
    if (special != new_specials.end()) {
      same[static_cast<size_t>(id)] =
          old_specials[static_cast<size_t>(special - new_specials.begin())];
    } else if (const auto found = ids.find(to.piece(id)); found != ids.end()) {
      same[static_cast<size_t>(id)] = found->second;
    }
  }
  return same;
}

// Rows of a matrix of the old model, by id of its vocabulary.
struct Rows {
  const at::Tensor& weight;
  const text::Tokenizer& tokenizer;
};

// Copies the rows of equal pieces, for each from the first of `sources` that has it. Returns how
// many there were.
int64_t copy_rows(const std::vector<Rows>& sources, at::Tensor to,
                  const text::Tokenizer& tokenizer) {
  std::vector<bool> done(static_cast<size_t>(tokenizer.size()));
  for (const Rows& source : sources) {
    const std::vector<int> same = same_pieces(source.tokenizer, tokenizer);
    std::vector<int64_t> old_ids, new_ids;
    for (size_t id = 0; id < same.size(); ++id) {
      if (done[id] || same[id] < 0) continue;
      old_ids.push_back(same[id]);
      new_ids.push_back(static_cast<int64_t>(id));
      done[id] = true;
    }
    to.index_copy_(0, torch::tensor(new_ids, at::kLong),
                   source.weight.index_select(0, torch::tensor(old_ids, at::kLong)));
  }
  return std::count(done.begin(), done.end(), true);
}

// The logits of `transform`'s range that give α, as near as the range allows.
at::Tensor logits_of(const AttentionTransform& transform, const at::Tensor& alpha) {
  const double range = transform.alpha_max - transform.alpha_min;
  const at::Tensor share =
      ((alpha.to(at::kDouble) - transform.alpha_min) / range).clamp(kMargin, 1 - kMargin);
  return torch::logit(share);
}

std::string text_of(const AttentionTransform& t) {
  return t.transform == Transform::kEntmax ? fmt::format("entmax of α {}", t.alpha)
                                           : to_string(t.transform);
}

class CarryOver {
 public:
  CarryOver(const Model& old, Transformer& model, const Tokenizers& tokenizers)
      : old_(old), model_(model), tokenizers_(tokenizers) {}

  CarriedOver run() {
    const torch::NoGradGuard no_grad;
    copy_vocabulary();
    copy_layers();
    for (const AttentionBlock block : kAttentionBlocks) copy_alpha(block);
    return result_;
  }

 private:
  void copy_vocabulary();
  void copy_layers();
  void copy_alpha(AttentionBlock block);
  at::Tensor alpha_logit(const Transformer& model, AttentionBlock block, int64_t layer) const;
  template <typename... Args>
  void note(fmt::format_string<Args...> format, Args&&... args) {
    result_.notes.push_back(fmt::format(format, std::forward<Args>(args)...));
  }

  const Model& old_;
  Transformer& model_;
  const Tokenizers& tokenizers_;
  CarriedOver result_;
};

void CarryOver::copy_vocabulary() {
  const Transformer& old = old_.transformer;
  const ModelConfig &before = old.config(), &now = model_.config();
  const Rows source{old.source_embedding(), old_.tokenizers.source};
  const Rows target{old.target_embedding(), old_.tokenizers.target};
  const Rows output{old.output_weight(), old_.tokenizers.target};
  if (now.shared_vocabulary) {
    const at::Tensor& embedding = model_.source_embedding();
    result_.source_pieces = result_.target_pieces =
        copy_rows({target, source}, embedding, tokenizers_.source);
    if (!before.shared_vocabulary) {
      note("one embedding for both languages takes the rows of the target's, then the source's");
    }
  } else {
    result_.source_pieces = copy_rows({source}, model_.source_embedding(), tokenizers_.source);
    result_.target_pieces = copy_rows({target}, model_.target_embedding(), tokenizers_.target);
    if (before.shared_vocabulary) note("both embeddings take the rows of the shared one");
  }
  int64_t rows = result_.target_pieces + (now.shared_vocabulary ? 0 : result_.source_pieces);
  if (!now.tied_embeddings) {
    rows += copy_rows({output}, model_.output_weight(), tokenizers_.target);
    if (before.tied_embeddings) note("the output layer takes the rows of the target embedding");
  } else if (!before.tied_embeddings) {
    note("the output layer is left out: the target embedding takes its place");
  }
  result_.parameters += rows * now.d_model;
}

void CarryOver::copy_layers() {
  const ModelConfig &before = old_.transformer.config(), &now = model_.config();
  for (const ParameterSpec& spec : model_.parameters().specs()) {
    if (!spec.name.starts_with("encoder.") && !spec.name.starts_with("decoder.")) continue;
    if (spec.name.ends_with(".alpha_logit")) continue;
    const auto old = find(old_.transformer.parameters(), spec.name);
    if (!old) continue;
    model_.parameters()[spec.name].copy_(*old);
    result_.parameters += old->numel();
  }
  const auto compare = [&](const char* side, int64_t there, int64_t here) {
    if (there < here) {
      note("{} layers {} to {} are new: the model to start from has {}", side, there + 1, here,
           there);
    } else if (there > here) {
      note("{} layers {} to {} of the model to start from are left out", side, here + 1, there);
    }
  };
  compare("encoder", before.encoder_layers, now.encoder_layers);
  compare("decoder", before.decoder_layers, now.decoder_layers);
}

at::Tensor CarryOver::alpha_logit(const Transformer& model, AttentionBlock block,
                                  int64_t layer) const {
  const auto i = static_cast<size_t>(layer);
  return block == AttentionBlock::kEncoder ? model.encoder()[i].self_attention.alpha_logit
         : block == AttentionBlock::kCross ? model.decoder()[i].cross_attention.alpha_logit
                                           : model.decoder()[i].self_attention.alpha_logit;
}

void CarryOver::copy_alpha(AttentionBlock block) {
  const Transformer& old = old_.transformer;
  const AttentionTransform &before = old.config().attention(block),
                           &now = model_.config().attention(block);
  const int64_t layers = std::min(old.config().layers(block), model_.config().layers(block));
  const bool same_range = before.alpha_min == now.alpha_min && before.alpha_max == now.alpha_max;
  for (int64_t i = 0; now.learned() && i < layers; ++i) {
    const at::Tensor& logits = alpha_logit(model_, block, i);
    const bool exact = before.learned() && same_range;
    logits.copy_(exact ? alpha_logit(old, block, i) : logits_of(now, old.alpha(block, i)));
    if (before.learned()) result_.parameters += logits.numel();
  }
  if (before.learned() && now.learned()) {
    if (!same_range)
      note("{} attention: α moves to the range {} to {}", name_of(block), now.alpha_min,
           now.alpha_max);
  } else if (now.learned()) {
    const double start =
        now.alpha_min +
        (now.alpha_max - now.alpha_min) *
            torch::sigmoid(logits_of(now, torch::full({}, before.fixed_alpha()))).item<double>();
    note("{} attention: {} becomes adaptive, starting at α {:.4g}", name_of(block), text_of(before),
         start);
  } else if (before.transform != now.transform || before.fixed_alpha() != now.fixed_alpha()) {
    note("{} attention: {} becomes {}", name_of(block), text_of(before), text_of(now));
  }
}

}  // namespace

void require_same_widths(const ModelConfig& old, const std::string& old_name,
                         const ModelConfig& config) {
  const auto require = [&](const char* what, int64_t there, int64_t here, const char* option) {
    if (there == here) return;
    throw Error("{}: {} is {} there and {} here; weights can be taken with {} {} only", old_name,
                what, there, here, option, there);
  };
  require("d_model", old.d_model, config.d_model, "--d-model");
  require("d_ff", old.d_ff, config.d_ff, "--d-ff");
  require("the number of heads", old.heads, config.heads, "--heads");
  for (const AttentionBlock block : kAttentionBlocks) {
    for (int64_t i = 0; i < std::min(old.layers(block), config.layers(block)); ++i) {
      if (old.heads_of(block, i) == config.heads_of(block, i)) continue;
      throw Error(
          "{}: {} layer {} has {} heads there, where some were pruned, and {} here; weights can be "
          "taken by a model with the same \"{}_heads\" only",
          old_name, name_of(block), i + 1, old.heads_of(block, i), config.heads_of(block, i),
          name_of(block));
    }
  }
  if (old.pre_norm != config.pre_norm) {
    throw Error(
        "{}: layer norm comes {} the sub-layers there and {} them here; weights can be "
        "taken {} --post-norm only",
        old_name, old.pre_norm ? "before" : "after", config.pre_norm ? "before" : "after",
        old.pre_norm ? "without" : "with");
  }
}

CarriedOver carry_over(const Model& old, const std::string& old_name, Transformer& model,
                       const Tokenizers& tokenizers) {
  require_same_widths(old.transformer.config(), old_name, model.config());
  return CarryOver(old, model, tokenizers).run();
}

}  // namespace filigree::model
