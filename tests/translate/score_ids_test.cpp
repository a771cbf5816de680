#include "filigree/translate/score_ids.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <cmath>

#include "filigree/base/random.h"
#include "filigree/entmax/entmax.h"
#include "tests/translate/test_model.h"

namespace filigree::translate {
namespace {

using Ids = std::vector<int>;
constexpr int kVocabulary = 50;

std::vector<Ids> random_sentences(int count, uint64_t seed) {
  Random random(seed);
  std::vector<Ids> sentences(count);
  for (Ids& sentence : sentences) {
    sentence.resize(random.below(10));
    for (int& id : sentence) id = static_cast<int>(4 + random.below(kVocabulary - 4));
  }
  return sentences;
}

std::vector<std::span<const int>> spans(const std::vector<Ids>& sentences) {
  return {sentences.begin(), sentences.end()};
}

/// The same model in double precision.
model::Transformer in_double(const model::Transformer& model) {
  const torch::NoGradGuard no_grad;
  model::Transformer copy(model.config(), at::kDouble);
  for (const auto& spec : model.parameters().specs()) {
    copy.parameters()[spec.name].detach().copy_(model.parameters()[spec.name]);
  }
  return copy;
}

/// p of every target piece and the end, by PyTorch's softmax in double precision, alone.
std::vector<double> probabilities(const model::Transformer& model, const Ids& source,
                                  const Ids& target) {
  const torch::NoGradGuard no_grad;
  const model::ModelConfig& config = model.config();
  const model::Sequences sources = model::pack({source}, -1, config.source_eos);
  const model::Sequences input = model::pack({target}, config.target_bos, -1);
  const at::Tensor logits =
      model.decode(input, model.encode(sources), sources).matmul(model.output_weight().t());
  const at::Tensor p = config.output_alpha == 1 ? torch::softmax(logits, -1)
                                                : filigree::entmax(logits, config.output_alpha);
  std::vector<double> found;
  for (size_t t = 0; t <= target.size(); ++t) {
    const int64_t id = t < target.size() ? target[t] : config.target_eos;
    found.push_back(p[static_cast<int64_t>(t)][id].item<double>());
  }
  return found;
}

/// The weight at the same place of another row.
double weight_of(const AttentionRow& row, const AttentionWeight& place) {
  for (const AttentionWeight& w : row) {
    if (w.head == place.head && w.source == place.source) return w.weight;
  }
  return 0;
}

class ScoreIds : public testing::TestWithParam<double> {
 protected:
  const std::vector<Ids> sources_ = random_sentences(40, 1), targets_ = random_sentences(40, 2);
  model::Transformer model() const {
    auto config = small_config(kVocabulary);
    config.output_alpha = GetParam();
    return random_model(config);
  }
};

TEST_P(ScoreIds, EqualTeacherForcingInDoublePrecision) {
  const model::Transformer model = this->model(), exact = in_double(model);
  const auto scored = score_ids(model, spans(sources_), spans(targets_));
  int zeros = 0;
  for (size_t i = 0; i < scored.size(); ++i) {
    const auto expected = probabilities(exact, sources_[i], targets_[i]);
    ASSERT_EQ(scored[i].token_log_probabilities.size(), expected.size());
    for (size_t t = 0; t < expected.size(); ++t) {
      const double found = scored[i].token_log_probabilities[t];
      if (GetParam() == 1) {
        EXPECT_NEAR(found, std::log(expected[t]), 1e-5);
      } else {
        EXPECT_NEAR(std::exp(found), expected[t], 1e-5);
        zeros += std::isinf(found);
      }
    }
  }
  if (GetParam() > 1) {
    EXPECT_GT(zeros, 0);
  }
}

TEST_P(ScoreIds, DoNotDependOnBatchesAndThreads) {
  const model::Transformer model = this->model();
  const std::vector<int> heads = {1, 3};
  const auto expected = score_ids(model, spans(sources_), spans(targets_), heads, {1, 1, 2048});
  for (const BatchOptions& batches :
       {BatchOptions{1, 7, 2048}, BatchOptions{2, 64, 40}, BatchOptions{2, 3, 2048}}) {
    const auto found = score_ids(model, spans(sources_), spans(targets_), heads, batches);
    for (size_t i = 0; i < found.size(); ++i) {
      for (size_t t = 0; t < found[i].token_log_probabilities.size(); ++t) {
        EXPECT_NEAR(std::exp(found[i].token_log_probabilities[t]),
                    std::exp(expected[i].token_log_probabilities[t]), 1e-6);
        const AttentionRow &row = *found[i].attention[t], &same = *expected[i].attention[t];
        ASSERT_EQ(row.size(), same.size());
        for (size_t w = 0; w < row.size(); ++w) {
          EXPECT_EQ(row[w].head, same[w].head);
          EXPECT_EQ(row[w].source, same[w].source);
          EXPECT_NEAR(row[w].weight, same[w].weight, 1e-6);
        }
      }
    }
  }
}

TEST_P(ScoreIds, AgreeWithTheSearch) {
  const model::Transformer model = this->model();
  SearchOptions options;
  options.n_best = 3;
  options.attention_heads = {0, 2, 5};
  const auto results = translate_ids(model, spans(sources_), options);
  for (size_t i = 0; i < sources_.size(); ++i) {
    for (const Hypothesis& hypothesis : results[i]) {
      if (sources_[i].empty() || !hypothesis.complete) continue;
      const auto forced =
          score_ids(model, {sources_[i]}, {hypothesis.tokens}, options.attention_heads).at(0);
      ASSERT_EQ(forced.attention.size(), hypothesis.attention.size());
      for (size_t t = 0; t < forced.attention.size(); ++t) {
        EXPECT_NEAR(std::exp(forced.token_log_probabilities[t]),
                    std::exp(hypothesis.token_log_probabilities[t]), 1e-5);
        const AttentionRow &a = *forced.attention[t], &b = *hypothesis.attention[t];
        // A weight that is next to nothing in one may be nothing in the other.
        double difference = 0;
        for (const AttentionWeight& w : a) difference += std::abs(weight_of(b, w) - w.weight);
        for (const AttentionWeight& w : b) difference += std::abs(weight_of(a, w) - w.weight);
        EXPECT_NEAR(difference, 0, 1e-4);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Outputs, ScoreIds, testing::Values(1.0, 1.5));

TEST(ScoreIds, GiveTheWeightsOfTheHeadsAskedFor) {
  const model::Transformer model = random_model(small_config(kVocabulary));
  const Ids source = {5, 6, 7}, target = {8, 9};
  const auto scored = score_ids(model, {source}, {target}, std::vector<int>{2, 3}).at(0);
  ASSERT_EQ(scored.attention.size(), 3u);
  for (const auto& row : scored.attention) {
    double of_2 = 0, of_3 = 0;
    for (const AttentionWeight& w : *row) {
      EXPECT_GT(w.weight, 0);
      EXPECT_LE(w.source, 3);  // position 3 is </s>
      (w.head == 2 ? of_2 : of_3) += w.weight;
    }
    EXPECT_NEAR(of_2, 1, 1e-6);
    EXPECT_NEAR(of_3, 1, 1e-6);
  }
  EXPECT_THAT(score_ids(model, {source}, {target}).at(0).attention, testing::IsEmpty());
}

TEST(ScoreIds, TakeEmptySentences) {
  const model::Transformer model = random_model(small_config(kVocabulary));
  const auto scored = score_ids(model, spans({{}, {5}, {}}), spans({{6}, {}, {}}));
  EXPECT_THAT(scored[0].token_log_probabilities, testing::SizeIs(2));
  EXPECT_THAT(scored[1].token_log_probabilities, testing::SizeIs(1));
  EXPECT_THAT(scored[2].token_log_probabilities, testing::SizeIs(1));
}

}  // namespace
}  // namespace filigree::translate
