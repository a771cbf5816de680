// Translations by the fast search with the incremental decoder against the plain search with the
// model as it is trained: the same weights and the same beam give the same output.
#include <gmock/gmock.h>
#include <torch/torch.h>

#include <algorithm>

#include "filigree/base/random.h"
#include "filigree/entmax/entmax.h"
#include "filigree/translate/translate_ids.h"
#include "tests/translate/reference_search.h"
#include "tests/translate/test_model.h"

namespace filigree::translate {
namespace {

constexpr int kVocabulary = 30, kStart = 6, kEnd = 7;

model::Transformer model_with(const std::string& transform, double output_alpha,
                              uint64_t seed = 1) {
  auto config = small_config(kVocabulary, transform);
  config.output_alpha = output_alpha;
  config.target_bos = kStart;
  config.target_eos = kEnd;
  return random_model(config, seed);
}

/// What the model says after a prefix, from a forward pass over the whole prefix: p of every token,
/// and the attention to the source pieces, the mean over the heads of the last layer.
struct Forward {
  at::Tensor p, attention;
};

Forward teacher_forced(const model::Transformer& model, const Tokens& source,
                       const Tokens& prefix) {
  const torch::NoGradGuard no_grad;
  const model::Sequences sources = model::pack({source}, -1, model.config().source_eos);
  const model::Sequences target = model::pack({prefix}, model.config().target_bos, -1);
  Forward result;
  model::ForwardOptions options;
  options.recorder = [&](const model::AttentionRecord& record) {
    if (record.block == model::AttentionBlock::kCross) {  // the last layer comes last
      result.attention = record.weights.mean(0)[-1].clone();
    }
  };
  const at::Tensor hidden = model.decode(target, model.encode(sources), sources, options);
  const at::Tensor logits = hidden[-1].matmul(model.output_weight().t()).to(at::kDouble);
  const double alpha = model.config().output_alpha;
  result.p = alpha == 1 ? torch::softmax(logits, -1) : filigree::entmax(logits, alpha);
  return result;
}

std::vector<float> floats(const at::Tensor& tensor) {
  const at::Tensor values = tensor.to(at::kFloat).contiguous();
  return {values.data_ptr<float>(), values.data_ptr<float>() + values.numel()};
}

/// The ensemble of some models, or one, as the plain search takes it.
PlainModel plain_model(const std::vector<const model::Transformer*>& models, const Tokens& source) {
  const auto mean = [=](const Tokens& prefix, at::Tensor Forward::*what) {
    at::Tensor sum;
    for (const auto* model : models) {
      const at::Tensor of_model = teacher_forced(*model, source, prefix).*what;
      sum = sum.defined() ? sum + of_model : of_model;
    }
    return sum / static_cast<double>(models.size());
  };
  return {kStart, kEnd, static_cast<int>(source.size()),
          [=](const Tokens& prefix) { return floats(mean(prefix, &Forward::p).log()); },
          [=](const Tokens& prefix) { return floats(mean(prefix, &Forward::attention)); }};
}

std::vector<Tokens> random_sources(int count) {
  Random random(5);
  std::vector<Tokens> sources(count);
  for (Tokens& source : sources) {
    source.resize(1 + random.below(8));
    for (int& id : source) id = static_cast<int>(4 + random.below(kVocabulary - 4));
  }
  return sources;
}

SearchOptions short_search() {
  SearchOptions options;
  options.beam_size = 4;
  options.n_best = 2;
  options.max_length_factor = 1;
  options.max_length_offset = 3;
  return options;
}

void expect_plain_results(const std::vector<const model::Transformer*>& models,
                          const SearchOptions& options,
                          const std::vector<PlainConstraints>& constraints) {
  const std::vector<Tokens> sources = random_sources(static_cast<int>(constraints.size()));
  std::vector<std::vector<Hypothesis>> expected;
  for (size_t i = 0; i < sources.size(); ++i) {
    expected.push_back(
        ReferenceSearch(plain_model(models, sources[i]), options, constraints[i]).run());
  }
  std::vector<size_t> order(sources.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (const BatchOptions& batches : {BatchOptions{1, 1}, {1, 3}, {2, 3}, {1, 64}}) {
    std::vector<SourceSentence> sentences;
    for (const size_t i : order) {
      const PlainConstraints& c = constraints[i];
      sentences.push_back({sources[i], {c.prefix, c.after_prefix, RequiredPhrases(c.required)}, 0});
    }
    const auto found = translate_ids(models, std::move(sentences), options, batches);
    for (size_t k = 0; k < order.size(); ++k) {
      const auto& of_sentence = expected[order[k]];
      ASSERT_EQ(found[k].size(), of_sentence.size());
      for (size_t n = 0; n < of_sentence.size(); ++n) {
        EXPECT_EQ(found[k][n].tokens, of_sentence[n].tokens);
        EXPECT_NEAR(found[k][n].score, of_sentence[n].score, 1e-4);
      }
    }
    std::rotate(order.begin(), order.begin() + 2, order.end());
    std::reverse(order.begin(), order.begin() + 3);
  }
}

TEST(PlainSearch, GivesTheSameTranslationsForAnyBatchThreadsAndOrder) {
  for (const char* transform : {"adaptive", "softmax"}) {
    for (const double output_alpha : {1.0, 1.5}) {
      const model::Transformer model = model_with(transform, output_alpha);
      expect_plain_results({&model}, short_search(), std::vector<PlainConstraints>(9));
    }
  }
}

TEST(PlainSearch, GivesTheSameTranslationsWithACoveragePenalty) {
  const model::Transformer a = model_with("adaptive", 1.5, 1), b = model_with("entmax15", 1.0, 2);
  SearchOptions options = short_search();
  options.coverage_penalty = 0.3;
  expect_plain_results({&a}, options, std::vector<PlainConstraints>(9));
  expect_plain_results({&a, &b}, options, std::vector<PlainConstraints>(9));
}

TEST(PlainSearch, GivesTheSameTranslationsUnderConstraints) {
  const model::Transformer model = model_with("adaptive", 1.5);
  std::vector<PlainConstraints> constraints(9);
  for (size_t i = 0; i < constraints.size(); ++i) {
    const int token = static_cast<int>(8 + i);
    if (i % 3 == 0) constraints[i].prefix = {token, 9};
    if (i % 3 == 1) constraints[i].required = {{{token, 20}}};
  }
  SearchOptions options = short_search();
  options.no_repeat_ngram_size = 2;
  expect_plain_results({&model}, options, constraints);
}

TEST(PlainSearch, GivesTheSameTranslationsByAnEnsemble) {
  const model::Transformer a = model_with("adaptive", 1.5, 1), b = model_with("softmax", 1.0, 2);
  expect_plain_results({&a, &b}, short_search(), std::vector<PlainConstraints>(9));
}

}  // namespace
}  // namespace filigree::translate
