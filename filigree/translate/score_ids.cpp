#include "filigree/translate/score_ids.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "filigree/base/blas.h"
#include "filigree/base/threads.h"
#include "filigree/entmax/kernels.h"

namespace filigree::translate {
namespace {

using Ids = std::span<const int>;

constexpr int64_t kBlockRows = 64;  // of logits that exist at the same time

/// Pairs of similar length together, the longest first, so that threads finish together.
std::vector<std::vector<size_t>> make_batches(const std::vector<Ids>& sources,
                                              const std::vector<Ids>& targets,
                                              const BatchOptions& options) {
  const auto length = [&](size_t i) { return std::max(sources[i].size(), targets[i].size()) + 1; };
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return length(a) > length(b); });
  std::vector<std::vector<size_t>> batches;
  size_t words = 0;
  for (const size_t i : order) {
    if (batches.empty() || batches.back().size() == static_cast<size_t>(options.mini_batch) ||
        words + length(i) > static_cast<size_t>(options.mini_batch_words)) {
      batches.emplace_back();
      words = 0;
    }
    batches.back().push_back(i);
    words += length(i);
  }
  return batches;
}

/// log p(gold) of every position from hidden states [T, D].
std::vector<float> gold_log_probabilities(const model::Transformer& model, const at::Tensor& hidden,
                                          const at::Tensor& gold) {
  const int64_t count = hidden.size(0), size = model.config().target_vocabulary;
  const double alpha = model.config().output_alpha;
  const int32_t* const ids = gold.data_ptr<int32_t>();
  std::vector<float> found, tau(kBlockRows);
  at::Tensor p = torch::empty({kBlockRows, size});
  for (int64_t begin = 0; begin < count; begin += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, count - begin);
    const at::Tensor logits =
        torch::mm(hidden.narrow(0, begin, rows), model.output_weight().t()).contiguous();
    entmax_kernels::forward({rows, size, size}, logits.data_ptr<float>(), alpha,
                            p.data_ptr<float>(), tau.data());
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t place = r * size + ids[begin + r];
      // For softmax τ is log Σ exp z.
      found.push_back(alpha == 1 ? logits.data_ptr<float>()[place] - tau[r]
                                 : std::log(p.data_ptr<float>()[place]));
    }
  }
  return found;
}

/// Adds the cross-attention of a layer to the rows of a sentence; weights [H, T, S].
void add_weights(const model::AttentionRecord& record, int64_t heads_a_layer,
                 std::span<const int> heads, std::vector<AttentionRow>& rows) {
  const int64_t count = record.weights.size(0), targets = record.weights.size(1),
                sources = record.weights.size(2);
  const float* const weights = record.weights.data_ptr<float>();
  for (const int head : heads) {
    const int64_t of_layer = head - record.layer * heads_a_layer;
    if (of_layer < 0 || of_layer >= count) continue;
    for (int64_t target = 0; target < targets; ++target) {
      const float* const row = weights + (of_layer * targets + target) * sources;
      for (int64_t source = 0; source < sources; ++source) {
        if (row[source] > 0) rows[target].push_back({head, static_cast<int>(source), row[source]});
      }
    }
  }
}

std::vector<ForcedTranslation> score_batch(const model::Transformer& model,
                                           const std::vector<Ids>& sources,
                                           const std::vector<Ids>& targets,
                                           std::span<const int> heads) {
  const torch::NoGradGuard no_grad;
  const model::ModelConfig& config = model.config();
  const model::Sequences source = model::pack(sources, -1, config.source_eos);
  const model::Sequences input = model::pack(targets, config.target_bos, -1);
  const model::Sequences gold = model::pack(targets, -1, config.target_eos);
  std::vector<std::vector<AttentionRow>> rows;
  for (const Ids& target : targets) rows.emplace_back(target.size() + 1);
  model::ForwardOptions options;
  if (!heads.empty()) {
    options.recorder = [&](const model::AttentionRecord& record) {
      if (record.block != model::AttentionBlock::kCross) return;
      add_weights(record, config.heads, heads, rows[record.sentence]);
    };
  }
  const at::Tensor hidden = model.decode(input, model.encode(source), source, options);
  const std::vector<float> log_probabilities = gold_log_probabilities(model, hidden, gold.tokens);

  std::vector<ForcedTranslation> results(targets.size());
  auto next = log_probabilities.begin();
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto end = next + static_cast<int64_t>(targets[i].size()) + 1;
    results[i].token_log_probabilities.assign(next, end);
    next = end;
    if (heads.empty()) continue;
    for (AttentionRow& row : rows[i]) {
      results[i].attention.push_back(std::make_shared<const AttentionRow>(std::move(row)));
    }
  }
  return results;
}

}  // namespace

std::vector<ForcedTranslation> score_ids(const model::Transformer& model,
                                         const std::vector<Ids>& sources,
                                         const std::vector<Ids>& targets,
                                         std::span<const int> heads, const BatchOptions& options) {
  options.check();
  at::set_num_threads(1);
  set_blas_threads(1);
  const std::vector<std::vector<size_t>> batches = make_batches(sources, targets, options);
  std::vector<ForcedTranslation> results(sources.size());
  std::atomic<size_t> next = 0;
  const int threads =
      static_cast<int>(std::clamp<size_t>(batches.size(), 1, static_cast<size_t>(options.threads)));
  run_parallel(threads, [&](int) {
    for (size_t b = next++; b < batches.size(); b = next++) {
      std::vector<Ids> batch_sources, batch_targets;
      for (const size_t i : batches[b]) {
        batch_sources.push_back(sources[i]);
        batch_targets.push_back(targets[i]);
      }
      try {
        auto scored = score_batch(model, batch_sources, batch_targets, heads);
        for (size_t k = 0; k < scored.size(); ++k) results[batches[b][k]] = std::move(scored[k]);
      } catch (...) {
        next = batches.size();  // Nobody needs to begin another batch.
        throw;
      }
    }
  });
  return results;
}

}  // namespace filigree::translate
