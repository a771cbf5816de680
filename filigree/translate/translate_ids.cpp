#include "filigree/translate/translate_ids.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <numeric>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/threads.h"
#include "filigree/translate/decoder.h"
#include "filigree/translate/ensemble.h"

namespace filigree::translate {
namespace {

using Models = std::vector<std::unique_ptr<const PackedModel>>;
using Sentences = std::vector<SourceSentence>;

/// Sentences of similar length together, the longest first, so that threads finish together; those
/// without pieces are left out.
std::vector<std::vector<size_t>> make_batches(const Sentences& sources,
                                              const BatchOptions& options) {
  std::vector<size_t> order(sources.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return sources[i].ids.empty(); });
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return sources[a].ids.size() > sources[b].ids.size();
  });
  std::vector<std::vector<size_t>> batches;
  size_t words = 0;
  for (const size_t i : order) {
    if (batches.empty() || batches.back().size() == static_cast<size_t>(options.mini_batch) ||
        words + sources[i].ids.size() > static_cast<size_t>(options.mini_batch_words)) {
      batches.emplace_back();
      words = 0;
    }
    batches.back().push_back(i);
    words += sources[i].ids.size();
  }
  return batches;
}

std::unique_ptr<StepFunction> make_decoder(const Models& models, const Sentences& sentences,
                                           DecoderOptions options) {
  std::vector<std::unique_ptr<StepFunction>> decoders;
  for (const auto& model : models) {
    auto decoder = std::make_unique<Decoder>(*model, options);
    for (size_t i = 0; i < sentences.size(); ++i) {
      decoder->add(static_cast<int>(i), sentences[i].ids);
    }
    decoders.push_back(std::move(decoder));
  }
  if (decoders.size() == 1) return std::move(decoders[0]);
  return std::make_unique<Ensemble>(std::move(decoders));
}

std::vector<std::vector<Hypothesis>> translate_batch(const Models& models, Sentences batch,
                                                     const SearchOptions& search) {
  const bool with_attention = search.coverage_penalty > 0 || !search.attention_heads.empty();
  const auto decoder = make_decoder(models, batch, {.attention = with_attention});
  std::vector<SentenceToSearch> sentences;
  for (SourceSentence& sentence : batch) {
    sentences.push_back(
        {static_cast<int>(sentence.ids.size()), std::move(sentence.constraints), sentence.key});
  }
  return beam_search(*decoder, std::move(sentences), search);
}

}  // namespace

void BatchOptions::check() const {
  if (threads < 1) throw UsageError("threads {} is too small", threads);
  if (mini_batch < 1) throw UsageError("mini-batch {} is too small", mini_batch);
  if (mini_batch_words < 1) throw UsageError("mini-batch-words {} is too small", mini_batch_words);
}

void suppress_special_tokens(SearchOptions& options, const text::Tokenizer& target) {
  options.suppressed.push_back(target.pad());
  if (!options.allow_unk) options.suppressed.push_back(target.unk());
}

std::vector<std::vector<Hypothesis>> translate_ids(
    const std::vector<const model::Transformer*>& models, Sentences sentences,
    const SearchOptions& search, const BatchOptions& options) {
  search.check();
  options.check();
  std::vector<std::unique_ptr<const PackedModel>> packed;
  for (const auto* model : models) packed.push_back(std::make_unique<const PackedModel>(*model));
  const std::vector<std::vector<size_t>> batches = make_batches(sentences, options);
  std::vector<std::vector<Hypothesis>> results(sentences.size(), std::vector<Hypothesis>(1));
  for (size_t i = 0; i < sentences.size(); ++i) {
    results[i][0].has_required = sentences[i].constraints.required.empty();
  }
  std::atomic<size_t> next = 0;
  const int threads =
      static_cast<int>(std::clamp<size_t>(batches.size(), 1, static_cast<size_t>(options.threads)));
  run_parallel(threads, [&](int) {
    for (size_t b = next++; b < batches.size(); b = next++) {
      Sentences batch;
      for (const size_t i : batches[b]) batch.push_back(std::move(sentences[i]));
      try {
        if (options.before_batch) options.before_batch();
        auto translated = translate_batch(packed, std::move(batch), search);
        for (size_t k = 0; k < translated.size(); ++k) {
          results[batches[b][k]] = std::move(translated[k]);
        }
      } catch (...) {
        next = batches.size();  // Nobody needs to begin another batch.
        throw;
      }
    }
  });
  return results;
}

std::vector<std::vector<Hypothesis>> translate_ids(const model::Transformer& model,
                                                   const std::vector<std::span<const int>>& sources,
                                                   const SearchOptions& search,
                                                   const BatchOptions& batches) {
  Sentences sentences;
  for (const auto& ids : sources) sentences.push_back({ids, {}, 0});
  return translate_ids({&model}, std::move(sentences), search, batches);
}

}  // namespace filigree::translate
