#include "filigree/translate/decoder.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/translate/translate_ids.h"
#include "tests/translate/test_model.h"

namespace filigree::translate {
namespace {

constexpr int kVocabulary = 50, kStart = 6, kEnd = 7;
using Ids = std::vector<int>;

std::vector<Ids> random_sentences(int count, uint64_t seed = 5) {
  Random random(seed);
  std::vector<Ids> sentences(count);
  for (Ids& sentence : sentences) {
    sentence.resize(1 + random.below(9));
    for (int& id : sentence) id = static_cast<int>(4 + random.below(kVocabulary - 4));
  }
  return sentences;
}

std::vector<std::span<const int>> spans(const std::vector<Ids>& sentences) {
  return {sentences.begin(), sentences.end()};
}

/// log p of every next token after <s> and the prefix, by the teacher-forced decoder.
at::Tensor full_log_probabilities(const model::Transformer& model, const Ids& source,
                                  const Ids& prefix) {
  const torch::NoGradGuard no_grad;
  const model::Sequences sources = model::pack({source}, -1, model.config().source_eos);
  const model::Sequences target = model::pack({prefix}, model.config().target_bos, -1);
  const at::Tensor hidden = model.decode(target, model.encode(sources), sources);
  return torch::log_softmax(hidden[-1].matmul(model.output_weight().t()), -1);
}

class EveryModel : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  model::Transformer model() const {
    auto config = small_config(kVocabulary, std::get<0>(GetParam()));
    config.pre_norm = std::get<1>(GetParam());
    config.source_eos = 5;  // special tokens may lie anywhere
    config.target_bos = kStart;
    config.target_eos = kEnd;
    return random_model(config);
  }
};

TEST_P(EveryModel, IncrementalDecodingEqualsFullDecoding) {
  const model::Transformer model = this->model();
  const std::vector<Ids> sources = random_sentences(3);
  Decoder decoder(model, spans(sources));

  // A beam whose hypotheses are reordered, copied and dropped at random; sentence 1 ends early.
  Random random(7);
  std::vector<SearchRow> rows = {{0, -1, kStart}, {1, -1, kStart}, {2, -1, kStart}};
  std::vector<Ids> prefixes(3);
  for (int step = 0; step < 8; ++step) {
    std::vector<float> found(rows.size() * kVocabulary);
    decoder.step(rows, found.data());
    for (size_t r = 0; r < rows.size(); ++r) {
      const at::Tensor expected =
          full_log_probabilities(model, sources[rows[r].sentence], prefixes[r]);
      const at::Tensor row = torch::from_blob(found.data() + r * kVocabulary, {kVocabulary});
      EXPECT_LT((row - expected).abs().max().item<float>(), 1e-5) << "step " << step;
    }
    std::vector<SearchRow> next;
    std::vector<Ids> next_prefixes;
    for (int sentence = 0; sentence < 3; ++sentence) {
      if (sentence == 1 && step >= 3) continue;
      std::vector<int> parents;
      for (size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].sentence == sentence) parents.push_back(static_cast<int>(r));
      }
      for (int i = 0; i < 3; ++i) {
        const int parent = parents[random.below(parents.size())];
        const int token = static_cast<int>(4 + random.below(kVocabulary - 4));
        next.push_back({sentence, parent, token});
        next_prefixes.push_back(prefixes[parent]);
        next_prefixes.back().push_back(token);
      }
    }
    rows = std::move(next);
    prefixes = std::move(next_prefixes);
  }
}

TEST_P(EveryModel, HypothesisHoldsItsTeacherForcedLogProbability) {
  const model::Transformer model = this->model();
  const std::vector<Ids> sources = random_sentences(4);
  SearchOptions options;
  options.n_best = 3;
  const auto results = translate_ids(model, spans(sources), options);
  for (size_t i = 0; i < sources.size(); ++i) {
    for (const Hypothesis& hypothesis : results[i]) {
      double sum = 0;
      for (size_t t = 0; t <= hypothesis.tokens.size(); ++t) {
        const Ids prefix(hypothesis.tokens.begin(), hypothesis.tokens.begin() + t);
        const int token = t < hypothesis.tokens.size() ? hypothesis.tokens[t] : kEnd;
        const float expected =
            full_log_probabilities(model, sources[i], prefix)[token].item<float>();
        EXPECT_NEAR(hypothesis.token_log_probabilities[t], expected, 1e-5);
        sum += expected;
      }
      EXPECT_NEAR(hypothesis.log_probability, sum, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoder, EveryModel,
                         testing::Combine(testing::Values("softmax", "entmax15", "sparsemax",
                                                          "adaptive"),
                                          testing::Bool()),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "PreNorm" : "PostNorm");
                         });

TEST(TranslateIds, BatchesThreadsAndOrderNeverChangeAResult) {
  const model::Transformer model = random_model(small_config(kVocabulary));
  const std::vector<Ids> sources = random_sentences(70);
  SearchOptions options;
  options.n_best = 2;
  const auto expected = translate_ids(model, spans(sources), options, {1, 1, 2048});
  const auto expect_equal = [&](const std::vector<Hypothesis>& found, size_t sentence) {
    ASSERT_EQ(found.size(), expected[sentence].size());
    for (size_t n = 0; n < found.size(); ++n) {
      EXPECT_EQ(found[n].tokens, expected[sentence][n].tokens);
      EXPECT_NEAR(found[n].score, expected[sentence][n].score, 1e-5);
    }
  };
  for (const BatchOptions& batches : {BatchOptions{1, 3, 2048}, BatchOptions{1, 64, 2048},
                                      BatchOptions{2, 3, 2048}, BatchOptions{2, 64, 30}}) {
    const auto found = translate_ids(model, spans(sources), options, batches);
    for (size_t i = 0; i < sources.size(); ++i) expect_equal(found[i], i);
  }
  auto reversed = spans(sources);
  std::reverse(reversed.begin(), reversed.end());
  const auto found = translate_ids(model, reversed, options);
  for (size_t i = 0; i < sources.size(); ++i) expect_equal(found[sources.size() - 1 - i], i);
}

TEST(TranslateIds, EmptySentenceGivesAnEmptyHypothesis) {
  const model::Transformer model = random_model(small_config(kVocabulary));
  const auto results = translate_ids(model, spans({{}, {5, 6}, {}}), {});
  ASSERT_EQ(results.size(), 3u);
  EXPECT_THAT(results[0], testing::SizeIs(1));
  EXPECT_THAT(results[0][0].tokens, testing::IsEmpty());
  EXPECT_EQ(results[2][0].score, 0);
  EXPECT_LT(results[1][0].score, 0);
}

TEST(TranslateIds, SuppressedTokensAreNeverWritten) {
  const model::Transformer model = random_model(small_config(8));
  SearchOptions options;
  options.beam_size = options.n_best = 12;
  options.suppressed = {0, 1, 6};
  for (const auto& n_best : translate_ids(model, spans({{5, 6}, {7}}), options)) {
    for (const Hypothesis& hypothesis : n_best) {
      EXPECT_THAT(hypothesis.tokens, testing::Each(testing::AnyOf(4, 5, 7)));
    }
  }
  options.suppressed = {8};
  EXPECT_THROW(translate_ids(model, spans({{5}}), options), UsageError);
}

TEST(TranslateIds, UnknownIsSuppressedUnlessAllowed) {
  const text::Tokenizer tokenizer = small_tokenizer();
  SearchOptions options;
  suppress_special_tokens(options, tokenizer);
  EXPECT_THAT(options.suppressed, testing::ElementsAre(tokenizer.pad(), tokenizer.unk()));
  options = {};
  options.allow_unk = true;
  suppress_special_tokens(options, tokenizer);
  EXPECT_THAT(options.suppressed, testing::ElementsAre(tokenizer.pad()));
}

TEST(TranslateIds, WorksOnAModelInTraining) {
  model::Transformer model = random_model(small_config(kVocabulary));
  const auto before = translate_ids(model, spans({{5, 6, 7}}), {});
  model.parameters().require_gradients();
  const auto after = translate_ids(model, spans({{5, 6, 7}}), {});
  EXPECT_EQ(before[0][0].tokens, after[0][0].tokens);
}

}  // namespace
}  // namespace filigree::translate
