#include "filigree/translate/decoder.h"

#include <gmock/gmock.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <utility>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "filigree/entmax/entmax.h"
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
  const at::Tensor logits = hidden[-1].matmul(model.output_weight().t());
  const double alpha = model.config().output_alpha;
  return alpha == 1 ? torch::log_softmax(logits, -1) : filigree::entmax(logits, alpha).log();
}

class EveryModel : public testing::TestWithParam<std::tuple<const char*, bool, double>> {
 protected:
  model::Transformer model() const {
    const std::string name = std::get<0>(GetParam());
    const bool pruned = name == "pruned";
    auto config = small_config(kVocabulary, pruned ? "adaptive" : name);
    if (pruned) config.heads_left = {{{2, 3}, {1, 2}, {3, 1}}};
    config.pre_norm = std::get<1>(GetParam());
    config.output_alpha = std::get<2>(GetParam());
    config.source_eos = 5;  // special tokens may lie anywhere
    config.target_bos = kStart;
    config.target_eos = kEnd;
    return random_model(config);
  }
  /// Near the threshold of a sparse output only p itself is well determined, not its logarithm.
  bool sparse() const { return std::get<2>(GetParam()) > 1; }
};

TEST_P(EveryModel, IncrementalDecodingEqualsFullDecoding) {
  const model::Transformer model = this->model();
  const std::vector<Ids> sources = random_sentences(3);
  const PackedModel packed(model);
  Decoder decoder(packed);
  for (int i = 0; i < 3; ++i) decoder.add(i, sources[i]);

  // A beam whose hypotheses are reordered, copied and dropped at random; sentence 1 ends early.
  Random random(7);
  std::vector<SearchRow> rows = {{0, -1, kStart}, {1, -1, kStart}, {2, -1, kStart}};
  std::vector<Ids> prefixes(3);
  for (int step = 0; step < 8; ++step) {
    StepScores found;
    decoder.step(rows, found);
    for (size_t r = 0; r < rows.size(); ++r) {
      const at::Tensor expected =
          full_log_probabilities(model, sources[rows[r].sentence], prefixes[r]);
      const at::Tensor row =
          torch::from_blob(found.values(r), {kVocabulary}) - found.log_normaliser(r);
      const at::Tensor error = sparse() ? row.exp() - expected.exp() : row - expected;
      EXPECT_LT(error.abs().max().item<float>(), 1e-5) << "step " << step;
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
      const size_t steps = hypothesis.tokens.size() + hypothesis.complete;
      ASSERT_EQ(hypothesis.token_log_probabilities.size(), steps);
      for (size_t t = 0; t < steps; ++t) {
        const Ids prefix(hypothesis.tokens.begin(), hypothesis.tokens.begin() + t);
        const int token = t < hypothesis.tokens.size() ? hypothesis.tokens[t] : kEnd;
        const float expected =
            full_log_probabilities(model, sources[i], prefix)[token].item<float>();
        EXPECT_LT(sparse() ? std::abs(std::exp(hypothesis.token_log_probabilities[t]) -
                                      std::exp(expected))
                           : std::abs(hypothesis.token_log_probabilities[t] - expected),
                  1e-5);
        sum += hypothesis.token_log_probabilities[t];
      }
      EXPECT_NEAR(hypothesis.log_probability, sum, 1e-4);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Decoder, EveryModel,
                         testing::Combine(testing::Values("softmax", "entmax15", "sparsemax",
                                                          "adaptive", "pruned"),
                                          testing::Bool(), testing::Values(1.0, 2.0)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) +
                                  (std::get<1>(info.param) ? "PreNorm" : "PostNorm") +
                                  (std::get<2>(info.param) > 1 ? "SparseOutput" : "");
                         });

TEST(Decoder, SentencesThatComeLaterScoreAsThoseThatAreAlone) {
  const model::Transformer model = random_model(small_config(kVocabulary));
  const PackedModel packed(model);
  const std::vector<Ids> sources = random_sentences(9);
  const auto tokens_of = [](int sentence, int step) { return 8 + (7 * sentence + step) % 40; };
  constexpr int kSteps = 5;

  // Sentence s takes part in the steps 2 s … 2 s + 4, whose rows are therefore all different.
  Decoder together(packed);
  std::map<std::pair<int, int>, std::vector<float>> found;
  std::vector<int> previous;
  for (int step = 0; step < 2 * 9 + kSteps; ++step) {
    if (step % 2 == 0 && step / 2 < 9) together.add(step / 2, sources[step / 2]);
    std::vector<SearchRow> rows;
    std::vector<int> now;
    for (int s = 0; s < 9; ++s) {
      const int position = step - 2 * s;
      if (position < 0 || position >= kSteps) continue;
      const auto parent = std::find(previous.begin(), previous.end(), s) - previous.begin();
      rows.push_back({s, position == 0 ? -1 : static_cast<int>(parent), tokens_of(s, position)});
      now.push_back(s);
    }
    if (rows.empty()) continue;
    StepScores scores;
    together.step(rows, scores);
    for (int r = 0; r < static_cast<int>(rows.size()); ++r) {
      auto& row = found[{now[r], step - 2 * now[r]}];
      row.assign(scores.values(r), scores.values(r) + kVocabulary);
      row.push_back(scores.log_normaliser(r));
    }
    for (const int s : now) {
      if (step - 2 * s == kSteps - 1) together.release(s);
    }
    previous = now;
  }
  for (int s = 0; s < 9; ++s) {
    Decoder alone(packed);
    alone.add(0, sources[s]);
    for (int step = 0; step < kSteps; ++step) {
      StepScores scores;
      alone.step(std::vector<SearchRow>{{0, step == 0 ? -1 : 0, tokens_of(s, step)}}, scores);
      std::vector<float> row(scores.values(0), scores.values(0) + kVocabulary);
      row.push_back(scores.log_normaliser(0));
      EXPECT_EQ((found[{s, step}]), row) << "sentence " << s << ", step " << step;
    }
  }
}

TEST(Decoder, GivesTheCrossAttentionOfEveryRowWhenAsked) {
  auto config = small_config(kVocabulary);
  const model::Transformer model = random_model(config);
  const PackedModel packed(model);
  Decoder plain(packed), asked(packed, {.attention = true});
  const std::vector<Ids> sources = {{8, 9, 10}, {11}};
  for (Decoder* decoder : {&plain, &asked}) {
    for (int i = 0; i < 2; ++i) decoder->add(i, sources[i]);
  }
  const std::vector<SearchRow> rows = {{0, -1, kStart}, {1, -1, kStart}};
  StepScores scores;
  plain.step(rows, scores);
  EXPECT_THAT(scores.attention, testing::IsEmpty());
  asked.step(rows, scores);
  ASSERT_EQ(scores.attention.size(), 2u);
  for (size_t r = 0; r < 2; ++r) {
    const size_t length = sources[r].size() + 1;
    ASSERT_EQ(scores.attention[r].size(), 2 * 3 * length);  // layers, heads
    for (size_t first = 0; first < scores.attention[r].size(); first += length) {
      float sum = 0;
      for (size_t i = 0; i < length; ++i) sum += scores.attention[r][first + i];
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

/// Every output that the model gives a probability above zero, by the teacher-forced decoder.
void enumerate(const model::Transformer& model, const Ids& source, size_t max_length,
               const Ids& prefix, double log_probability,
               std::vector<std::pair<double, Ids>>& outputs) {
  const at::Tensor scores = full_log_probabilities(model, source, prefix);
  const auto score = scores.accessor<float, 1>();
  for (int token = 0; token < static_cast<int>(scores.size(0)); ++token) {
    if (token == model.config().target_bos || std::isinf(score[token])) continue;
    const double sum = log_probability + score[token];
    if (token == model.config().target_eos) {
      outputs.emplace_back(sum / static_cast<double>(prefix.size() + 1), prefix);
    } else if (prefix.size() < max_length) {
      Ids longer = prefix;
      longer.push_back(token);
      enumerate(model, source, max_length, longer, sum, outputs);
    }
  }
}

TEST(SparseOutput, LargeBeamEqualsExhaustiveSearch) {
  constexpr int kSmall = 8, kMaxLength = 3;
  int short_lists = 0, without_output = 0, compared = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    auto config = small_config(kSmall);
    config.output_alpha = seed % 2 ? 1.5 : 2.5;
    model::Transformer model = random_model(config, seed);
    // From few zeros to so many that some sentences have no output at all.
    model.parameters()["decoder.norm.weight"].detach().mul_(0.1 * static_cast<double>(seed));
    const Ids source = {4, static_cast<int>(4 + seed % 4), 5};
    std::vector<std::pair<double, Ids>> expected;
    enumerate(model, source, kMaxLength, {}, 0, expected);
    std::stable_sort(expected.begin(), expected.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    SearchOptions options;
    options.beam_size = options.n_best = 1000;
    options.max_length_factor = 0;
    options.max_length_offset = kMaxLength;
    const auto found = translate_ids(model, spans({source}), options).at(0);
    if (expected.empty()) {
      ++without_output;
      EXPECT_FALSE(found.at(0).complete);
      continue;
    }
    short_lists += expected.size() < 50;
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      ++compared;
      EXPECT_NEAR(found[i].score, expected[i].first, 1e-3);
      EXPECT_TRUE(found[i].complete);
      for (const float value : found[i].token_log_probabilities) EXPECT_TRUE(std::isfinite(value));
    }
    EXPECT_EQ(found[0].tokens, expected[0].second);
    // A beam of a few never holds what has probability zero either.
    options.beam_size = options.n_best = 4;
    const auto few = translate_ids(model, spans({source}), options);
    for (const Hypothesis& hypothesis : few.at(0)) {
      EXPECT_TRUE(std::isfinite(hypothesis.score));
      const auto is_it = [&](const auto& output) { return output.second == hypothesis.tokens; };
      if (hypothesis.complete) {
        EXPECT_TRUE(std::any_of(expected.begin(), expected.end(), is_it));
      }
    }
  }
  // The models cover what the test is about.
  EXPECT_GT(compared, 50);
  EXPECT_GT(short_lists, 0);
  EXPECT_GT(without_output, 0);
}

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
      EXPECT_EQ(found[n].score, expected[sentence][n].score);
      EXPECT_EQ(found[n].token_log_probabilities, expected[sentence][n].token_log_probabilities);
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
