#include "filigree/prune/prune.h"

#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <utility>

#include "filigree/base/blas.h"
#include "filigree/base/error.h"
#include "filigree/base/log.h"
#include "filigree/inspect/inspection.h"
#include "filigree/train/new_directory.h"
#include "filigree/train/validation.h"
#include "filigree/translate/generation_config.h"

namespace filigree::prune {
namespace {

using inspect::Measure;
using model::AttentionBlock;

// Models without some of the heads of one, on the development set.
class Development {
 public:
  Development(const model::Model& model, const PruneOptions& options,
              const translate::GenerationConfig& generation)
      : model_(model), threads_(options.threads) {
    train_.valid_sets = options.valid_sets;
    train_.beam_size = generation.search.beam_size;
    train_.length_penalty = generation.search.length_penalty;
    set_ = *train::read_validation_set(train_, model.tokenizers);
  }

  double loss(const HeadSet& removed) {
    const auto found = losses_.find(removed);
    if (found != losses_.end()) return found->second;
    return losses_[removed] = validate(without_heads(model_.transformer, removed), false).loss;
  }

  Scores scores(const HeadSet& removed) {
    const model::Transformer smaller = without_heads(model_.transformer, removed);
    const train::ValidationReport report = validate(smaller, true);
    return {smaller.config().total_heads(), smaller.parameters().count(), report.loss, *report.bleu,
            *report.chrf};
  }

 private:
  train::ValidationReport validate(const model::Transformer& transformer, bool translate) {
    train_.translate_valid_set = translate;
    return train::run_validation(transformer, set_, model_.tokenizers.target, train_, threads_,
                                 group_)
        ->report;
  }

  const model::Model& model_;
  train::TrainOptions train_;
  train::ValidationSet set_;
  train::WorkerGroup group_;
  int threads_;
  std::map<HeadSet, double> losses_;
};

HeadSet alignment_heads(const translate::GenerationConfig& generation) {
  HeadSet heads;
  for (const auto& [layer, head] : generation.alignment_heads) {
    heads.insert({AttentionBlock::kCross, layer, head});
  }
  return heads;
}

// The same heads as they are counted when others are gone.
void count_anew(translate::GenerationConfig& generation, const HeadSet& removed) {
  for (auto& [layer, head] : generation.alignment_heads) {
    const auto place = [l = layer](int64_t h) { return HeadPlace{AttentionBlock::kCross, l, h}; };
    head -= static_cast<int>(
        std::distance(removed.lower_bound(place(0)), removed.lower_bound(place(head))));
  }
}

inspect::ModelInspection inspect_model(const PruneOptions& options) {
  inspect::InspectOptions inspection;
  inspection.models = {options.model};
  inspection.input = {.source = options.valid_sets[0],
                      .target = options.valid_sets[1],
                      .alignments = {},
                      .conllu = {}};
  inspection.samples = 1;
  inspection.threads = options.threads;
  return std::move(inspect::inspect(inspection).models.front());
}

// Heads in the order in which they go, found as far as they are asked for.
class Removals {
 public:
  Removals(RemovalOrder order, Development& development, const inspect::ModelInspection& inspection)
      : order_(std::move(order)), development_(development), inspection_(inspection) {}

  /// Looks for the first `count`. Returns how many of them there are.
  size_t find(size_t count) {
    while (heads_.size() < count) {
      const auto next = order_.next(removed_);
      if (!next) break;
      heads_.push_back(describe(*next));
      removed_.insert(*next);
    }
    return std::min(count, heads_.size());
  }
  HeadSet first(size_t count) const {
    HeadSet heads;
    for (size_t i = 0; i < count; ++i) heads.insert(heads_[i].place);
    return heads;
  }
  const std::vector<RemovedHead>& heads() const { return heads_; }

 private:
  RemovedHead describe(const HeadPlace& place) {
    const auto b = static_cast<size_t>(place.block), l = static_cast<size_t>(place.layer),
               h = static_cast<size_t>(place.head);
    const inspect::HeadStatistics& statistics = inspection_.statistics.blocks[b].layers[l].heads[h];
    const std::vector<inspect::Role>& roles = inspection_.roles[b][l][h];
    HeadSet without = removed_;
    without.insert(place);
    return {.place = place,
            .loss_rise = development_.loss(without) - development_.loss(removed_),
            .nearest = *nearest(inspection_.statistics, place, removed_),
            .alpha = inspection_.alpha[b][l][h],
            .density = statistics[Measure::kDensity].value().value_or(0),
            .relative_entropy = statistics[Measure::kRelativeEntropy].value().value_or(0),
            .role = roles.empty() ? "" : roles.front().name};
  }

  RemovalOrder order_;
  Development& development_;
  const inspect::ModelInspection& inspection_;
  std::vector<RemovedHead> heads_;
  HeadSet removed_;
};

// The largest number of heads found to pass the guard, by doubling and then halving.
size_t most_removable(Removals& removals, const std::function<bool(size_t)>& passes) {
  size_t good = 0, bad = 0;
  for (size_t count = 1; bad == 0; count *= 2) {
    const size_t there = removals.find(count);
    if (there == good) return good;
    (passes(there) ? good : bad) = there;
  }
  while (bad - good > 1) {
    const size_t middle = (good + bad) / 2;
    (passes(middle) ? good : bad) = middle;
  }
  return good;
}

}  // namespace

Pruning prune(const PruneOptions& options) {
  const std::filesystem::path output = train::without_slash(options.output);
  train::require_new(output, "--output");
  const model::Model model = model::load_model(options.model);
  translate::GenerationConfig generation = translate::load_generation_config(options.model);
  at::set_num_threads(1);
  set_blas_threads(1);

  Development development(model, options, generation);
  Pruning pruning;
  pruning.options = options;
  pruning.kept = alignment_heads(generation);
  std::map<size_t, Scores> scores = {{0, development.scores({})}};
  pruning.before = scores[0];
  spdlog::info("{}: {} heads, BLEU {:.2f}, loss {:.4f}", options.model.string(),
               pruning.before.heads, pruning.before.bleu, pruning.before.loss);

  const inspect::ModelInspection inspection = inspect_model(options);
  Removals removals(
      RemovalOrder(options.criterion, inspection.config, inspection.statistics, pruning.kept,
                   [&](const HeadSet& heads) { return development.loss(heads); }),
      development, inspection);
  const size_t count = most_removable(removals, [&](size_t heads) {
    const Scores& now = scores[heads] = development.scores(removals.first(heads));
    spdlog::info("without {} heads: BLEU {:.2f}, loss {:.4f}", heads, now.bleu, now.loss);
    return pruning.before.bleu - now.bleu <= options.max_bleu_drop;
  });
  if (count == 0) {
    throw Error("{}: no head can go without losing more than {} BLEU; see --max-bleu-drop",
                options.model.string(), options.max_bleu_drop);
  }

  const HeadSet removed = removals.first(count);
  const model::Transformer smaller = without_heads(model.transformer, removed);
  count_anew(generation, removed);
  train::write_new_directory(output, smaller, model.tokenizers, generation);
  pruning.config = smaller.config();
  pruning.after = scores[count];
  pruning.removed.assign(removals.heads().begin(),
                         removals.heads().begin() + static_cast<ptrdiff_t>(count));
  for (const auto& [unused, measured] : scores) pruning.measured.push_back(measured);
  return pruning;
}

}  // namespace filigree::prune
