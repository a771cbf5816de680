// Every statistic against its definition on dense matrices, and against cases worked out by hand.
#include "filigree/inspect/statistics.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "filigree/base/random.h"
#include "tests/inspect/random_attention.h"

namespace filigree::inspect {
namespace {

constexpr auto kEncoder = AttentionBlock::kEncoder, kCross = AttentionBlock::kCross,
               kDecoder = AttentionBlock::kDecoder;

double value(const HeadStatistics& s, Measure measure) { return s[measure].value().value_or(-1); }

// The mean of f(query) over the queries where it is something.
double mean_over_queries(int queries, const std::function<std::optional<double>(int)>& f) {
  double sum = 0;
  int count = 0;
  for (int q = 0; q < queries; ++q) {
    if (const auto v = f(q)) {
      sum += *v;
      ++count;
    }
  }
  return count == 0 ? -1 : sum / count;
}

double dense_entropy(const std::vector<double>& p) {
  double h = 0;
  for (const double w : p) h -= w > 0 ? w * std::log(w) : 0;
  return h;
}

std::vector<double> row_of(const Dense& weights, int query) {
  const auto& row = weights[static_cast<size_t>(query)];
  return {row.begin(), row.end()};
}

class EveryBlock : public testing::TestWithParam<AttentionBlock> {
 protected:
  EveryBlock() {
    tokens_.source = source_of("_What _( ever - so ) _rare _zeb ra _is _a ?");
    tokens_.target = target_of("_ein _Zeb ra , _so _sel ten .");
    WordCounts counts;
    counts.add(source_of("_What _is _a _rare"));
    mark_rare_words(tokens_.source, counts);
  }
  Dense weights(uint64_t seed) const {
    return random_attention(GetParam(), tokens_.queries(GetParam()).size(),
                            tokens_.keys(GetParam()).size(), seed);
  }
  SentenceTokens tokens_;
};

TEST_P(EveryBlock, MeasuresEqualTheirDefinitions) {
  const AttentionBlock block = GetParam();
  const Tokens &queries = tokens_.queries(block), &keys = tokens_.keys(block);
  const int q_count = queries.size(), k_count = keys.size();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const Dense w = weights(seed);
    const HeadStatistics s = measure_head(block, sparse(w), queries, keys);
    const auto at = [&](int q, int k) {
      return static_cast<double>(w[static_cast<size_t>(q)][static_cast<size_t>(k)]);
    };
    const auto visible = [&](int q) { return block == kDecoder ? q + 1 : k_count; };
    const auto mass = [&](int q, const std::vector<bool>& on) {
      double sum = 0;
      for (int k = 0; k < k_count; ++k) sum += on[static_cast<size_t>(k)] ? at(q, k) : 0;
      return sum;
    };
    double nonzero = 0, pairs = 0;
    std::array<int64_t, kSupportBins> support{};
    for (int q = 0; q < q_count; ++q) {
      const auto row = row_of(w, q);
      const auto size = std::count_if(row.begin(), row.end(), [](double v) { return v > 0; });
      nonzero += static_cast<double>(size);
      pairs += visible(q);
      ++support[static_cast<size_t>(size - 1)];
    }
    EXPECT_DOUBLE_EQ(value(s, Measure::kDensity), nonzero / pairs);
    EXPECT_EQ(s.support, support);
    EXPECT_EQ(s.densities[static_cast<size_t>(nonzero / pairs * 15)], nonzero == pairs ? 0 : 1);
    EXPECT_NEAR(value(s, Measure::kEntropy),
                mean_over_queries(q_count, [&](int q) { return dense_entropy(row_of(w, q)); }),
                1e-12);
    EXPECT_NEAR(value(s, Measure::kRelativeEntropy),
                mean_over_queries(q_count,
                                  [&](int q) -> std::optional<double> {
                                    if (visible(q) == 1) return std::nullopt;
                                    return dense_entropy(row_of(w, q)) / std::log(visible(q));
                                  }),
                1e-12);
    for (int offset = -2; offset <= 2; ++offset) {
      const auto measure = static_cast<Measure>(static_cast<int>(Measure::kTwoBefore) + offset + 2);
      EXPECT_NEAR(value(s, measure),
                  mean_over_queries(q_count,
                                    [&](int q) -> std::optional<double> {
                                      const int k = q + offset;
                                      if (k < 0 || k >= visible(q)) return std::nullopt;
                                      return at(q, k);
                                    }),
                  1e-12)
          << offset;
    }
    EXPECT_NEAR(value(s, Measure::kMark),
                mean_over_queries(q_count, [&](int q) { return mass(q, keys.mark); }), 1e-12);
    EXPECT_NEAR(value(s, Measure::kPunctuation),
                mean_over_queries(q_count, [&](int q) { return mass(q, keys.punctuation); }),
                1e-12);
    const double rare = mean_over_queries(q_count, [&](int q) { return mass(q, keys.rare); });
    EXPECT_NEAR(value(s, Measure::kRare), block == kDecoder ? -1 : rare, 1e-12);
    // "What" is the first piece, "?" the last but one.
    EXPECT_NEAR(value(s, Measure::kQuestion), block == kEncoder ? at(0, k_count - 2) : -1, 1e-12);
  }
}

TEST_P(EveryBlock, WordMeasuresEqualTheirDefinitions) {
  const AttentionBlock block = GetParam();
  const Tokens &queries = tokens_.queries(block), &keys = tokens_.keys(block);
  const Dense w = weights(7);
  const HeadStatistics s = measure_head(block, sparse(w), queries, keys);
  if (block == kCross) {
    double covered = 0;
    for (int word = 0; word < keys.word_count(); ++word) {
      bool seen = false;
      for (int q = 0; q < queries.size(); ++q) {
        for (int k = 0; k < keys.size(); ++k) {
          seen |= keys.word[static_cast<size_t>(k)] == word &&
                  w[static_cast<size_t>(q)][static_cast<size_t>(k)] > 0;
        }
      }
      covered += seen;
    }
    EXPECT_DOUBLE_EQ(value(s, Measure::kCoverage), covered / keys.word_count());
    EXPECT_EQ(s[Measure::kOwnWord].count, 0);
    return;
  }
  double own = 0, merging = 0;
  int pieces = 0;
  for (int word = 0; word < queries.word_count(); ++word) {
    double most = 0;
    const auto in_word = [&](int i) { return queries.word[static_cast<size_t>(i)] == word; };
    for (int q = 0; q < queries.size(); ++q) {
      if (!in_word(q)) continue;
      double all = 0, others = 0;
      int size = 0;
      for (int k = 0; k < keys.size(); ++k) {
        if (!in_word(k)) continue;
        ++size;
        all += w[static_cast<size_t>(q)][static_cast<size_t>(k)];
        if (k != q) others += w[static_cast<size_t>(q)][static_cast<size_t>(k)];
      }
      most = std::max(most, size == 1 ? all : others);
      own += all;
      ++pieces;
    }
    merging += most;
  }
  EXPECT_NEAR(value(s, Measure::kOwnWord), own / pieces, 1e-12);
  EXPECT_NEAR(value(s, Measure::kWordPieces), merging / queries.word_count(), 1e-12);
}

TEST_P(EveryBlock, DiversityEqualsItsDefinition) {
  const AttentionBlock block = GetParam();
  const std::vector<Dense> heads = {weights(1), weights(2), weights(3)};
  const Diversity d =
      measure_diversity(block, {sparse(heads[0]), sparse(heads[1]), sparse(heads[2])});
  const auto js = [&](int q, const std::vector<size_t>& of) {
    std::vector<double> mean(heads[0][0].size());
    double entropies = 0;
    for (const size_t h : of) {
      const auto row = row_of(heads[h], q);
      for (size_t k = 0; k < row.size(); ++k) mean[k] += row[k] / static_cast<double>(of.size());
      entropies += dense_entropy(row) / static_cast<double>(of.size());
    }
    return dense_entropy(mean) - entropies;
  };
  const auto queries = static_cast<int>(heads[0].size());
  const auto visible = [&](int q) {
    return block == kDecoder ? q + 1 : static_cast<int>(heads[0][0].size());
  };
  EXPECT_NEAR(*d.by_heads.value(),
              mean_over_queries(queries,
                                [&](int q) {
                                  return js(q, {0, 1, 2}) / std::log(3);
                                }),
              1e-6);
  EXPECT_NEAR(*d.by_keys.value(),
              mean_over_queries(queries,
                                [&](int q) -> std::optional<double> {
                                  if (visible(q) == 1) return std::nullopt;
                                  return js(q, {0, 1, 2}) / std::log(visible(q));
                                }),
              1e-6);
  for (size_t a = 0; a < 3; ++a) {
    for (size_t b = 0; b < 3; ++b) {
      const double pair = mean_over_queries(queries, [&](int q) {
        return js(q, {a, b}) / std::log(2);
      });
      EXPECT_NEAR(*d.pairs[a * 3 + b].value(), pair, 1e-6) << a << " " << b;
    }
  }
}

TEST_P(EveryBlock, UniformAttentionIsDenseAndOfFullEntropy) {
  const Tokens &queries = tokens_.queries(GetParam()), &keys = tokens_.keys(GetParam());
  const HeadStatistics s = measure_head(
      GetParam(), uniform_attention(GetParam(), queries.size(), keys.size()), queries, keys);
  EXPECT_DOUBLE_EQ(value(s, Measure::kDensity), 1);
  EXPECT_NEAR(value(s, Measure::kRelativeEntropy), 1, 1e-6);
  EXPECT_EQ(s.densities[kDensityBins - 1], 1);
}

INSTANTIATE_TEST_SUITE_P(, EveryBlock, testing::Values(kEncoder, kCross, kDecoder),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// The paper's own examples of what a head can do, on matrices with one obvious answer.
TEST(Statistics, APreviousTokenHeadHasAllItsMassThere) {
  Dense w(5, std::vector<float>(5));
  w[0][4] = 1;  // The first token has none before it: it does not count.
  for (size_t q = 1; q < 5; ++q) w[q][q - 1] = 1;
  const Tokens tokens = source_of("_a _b _c _d");
  const HeadStatistics s = measure_head(kEncoder, sparse(w), tokens, tokens);
  EXPECT_EQ(value(s, Measure::kPrevious), 1);
  EXPECT_EQ(value(s, Measure::kNext), 0);
  EXPECT_EQ(value(s, Measure::kEntropy), 0);
  EXPECT_EQ(value(s, Measure::kDensity), 5.0 / 25);
}

TEST(Statistics, AWordPieceHeadScoresByTheBestPieceOfEveryWord) {
  const Tokens tokens = source_of("_zeb ra _a");  // and </s>
  // zeb looks at ra by 0.5, ra at zeb by 0.9; a at itself by 0.6.
  const Dense w = {{.5f, .5f, 0, 0}, {.9f, 0, 0, .1f}, {.4f, 0, .6f, 0}, {0, 0, 0, 1}};
  const HeadStatistics s = measure_head(kEncoder, sparse(w), tokens, tokens);
  EXPECT_NEAR(value(s, Measure::kWordPieces), (0.9 + 0.6) / 2, 1e-7);
  EXPECT_NEAR(value(s, Measure::kOwnWord), (1.0 + 0.9 + 0.6) / 3, 1e-7);
}

TEST(Statistics, HeadsWithDisjointSupportsAreAsDiverseAsCanBe) {
  const Dense first = {{1, 0}, {1, 0}}, second = {{0, 1}, {0, 1}};
  const Diversity apart = measure_diversity(kCross, {sparse(first), sparse(second)});
  EXPECT_NEAR(*apart.by_heads.value(), 1, 1e-12);
  EXPECT_NEAR(*apart.pairs[1].value(), 1, 1e-12);
  const Diversity same = measure_diversity(kCross, {sparse(first), sparse(first)});
  EXPECT_EQ(*same.by_heads.value(), 0);
  // Eight heads on eight keys: H(mean) = log 8, divided by log of the number of heads, as the
  // paper's figures are.
  LayerAttention eight;
  for (size_t h = 0; h < 8; ++h) {
    Dense w(1, std::vector<float>(16));
    w[0][h] = 1;
    eight.push_back(sparse(w));
  }
  EXPECT_NEAR(*measure_diversity(kCross, eight).by_heads.value(), 1, 1e-12);
  EXPECT_NEAR(*measure_diversity(kCross, eight).by_keys.value(), 3.0 / 4, 1e-12);
}

SentenceAttention two_layers(const SentenceTokens& tokens, uint64_t seed) {
  SentenceAttention attention;
  for (const AttentionBlock block : model::kAttentionBlocks) {
    for (int layer = 0; layer < 2; ++layer) {
      attention.of(block).emplace_back();
      for (int head = 0; head < 2; ++head) {
        attention.of(block).back().push_back(sparse(random_attention(
            block, tokens.queries(block).size(), tokens.keys(block).size(), ++seed)));
      }
    }
  }
  return attention;
}

TEST(Statistics, OfATextAreThoseOfItsSentencesAdded) {
  const SentenceTokens one{source_of("_a _cat s ."), target_of("_eine _Katze"), {}, {}};
  const SentenceTokens two{source_of("_b"), target_of("_ein _b ."), {}, {}};
  Statistics text = measure_sentence(two_layers(one, 1), one);
  const Statistics first = text, second = measure_sentence(two_layers(two, 50), two);
  text += second;
  EXPECT_EQ(text.sentences, 2);
  // The micro average: (non-zero weights) / (pairs), 3 · 3 + 5 · 3 pairs of cross-attention.
  const auto& density = [](const Statistics& s) -> const Mean& {
    return s.of(kCross).layers[1].heads[0][Measure::kDensity];
  };
  EXPECT_EQ(density(text).count, 5 * 3 + 2 * 4);
  EXPECT_EQ(density(text).sum, density(first).sum + density(second).sum);
  EXPECT_EQ(text.of(kDecoder).layers[0].heads[1][Measure::kDensity].count, 6 + 10);
  EXPECT_EQ(text.of(kEncoder).layers[0].heads[1][Measure::kDensity].count, 25 + 4);
  EXPECT_EQ(text.coverage.count, 3 + 1);
  Statistics empty;
  empty += first;
  EXPECT_EQ(density(empty).sum, density(first).sum);
}

TEST(Statistics, CoverageOfHeadsLayersAndTheModelEqualsItsDefinition) {
  const SentenceTokens tokens{
      source_of("_a _zeb ra _so _rare _is _here ."), target_of("_ein _Zeb ra"), {}, {}};
  const int queries = tokens.target.size(), keys = tokens.source.size();
  Random random(3);
  // Every query looks at one piece, so that many words are not looked at.
  std::vector<std::vector<Dense>> layers(2, std::vector<Dense>(2));
  SentenceAttention attention = two_layers(tokens, 1);
  for (size_t l = 0; l < 2; ++l) {
    for (size_t h = 0; h < 2; ++h) {
      layers[l][h].assign(static_cast<size_t>(queries),
                          std::vector<float>(static_cast<size_t>(keys)));
      for (auto& row : layers[l][h]) row[random.below(static_cast<uint64_t>(keys))] = 1;
      attention.of(kCross)[l][h] = sparse(layers[l][h]);
    }
  }
  const auto covered = [&](std::vector<std::pair<size_t, size_t>> heads) {
    double words = 0;
    for (int word = 0; word < tokens.source.word_count(); ++word) {
      bool seen = false;
      for (const auto& [l, h] : heads) {
        for (const auto& row : layers[l][h]) {
          for (size_t k = 0; k < row.size(); ++k) {
            seen |= row[k] > 0 && tokens.source.word[k] == word;
          }
        }
      }
      words += seen;
    }
    return words / tokens.source.word_count();
  };
  const Statistics s = measure_sentence(attention, tokens);
  for (size_t l = 0; l < 2; ++l) {
    const LayerStatistics& layer = s.of(kCross).layers[l];
    for (size_t h = 0; h < 2; ++h) {
      EXPECT_DOUBLE_EQ(value(layer.heads[h], Measure::kCoverage), covered({{l, h}}));
    }
    EXPECT_DOUBLE_EQ(*layer.coverage.value(), covered({{l, 0}, {l, 1}}));
  }
  EXPECT_DOUBLE_EQ(*s.coverage.value(), covered({{0, 0}, {0, 1}, {1, 0}, {1, 1}}));
  EXPECT_LT(*s.coverage.value(), 1);
}

// The values of the paper's figures for English to German, layer by layer, and the means that it
// gives: those of a block are over its layers.
TEST(Statistics, ABlocksMeanIsThatOfThePapersTables) {
  const auto block_of = [](const std::vector<double>& js, const std::vector<double>& densities) {
    BlockStatistics block;
    for (size_t l = 0; l < js.size(); ++l) {
      LayerStatistics& layer = block.layers.emplace_back();
      layer.diversity.by_heads = {100 * js[l], 100};
      layer.heads.resize(8);
      for (HeadStatistics& head : layer.heads) head[Measure::kDensity] = {50 * densities[l], 50};
    }
    return block;
  };
  const BlockStatistics learned =
      block_of({.428, .484, .534, .450, .394, .356}, {.431, .181, .456, .580, .509, .612});
  EXPECT_NEAR(learned.mean_js_by_heads(), .441, 5e-4);
  EXPECT_NEAR(*learned.mean(Measure::kDensity), .461, 6e-4);
  const BlockStatistics fixed =
      block_of({.378, .504, .574, .525, .440, .421}, {.070, .096, .244, .274, .249, .203});
  EXPECT_NEAR(fixed.mean_js_by_heads(), .474, 5e-4);
  EXPECT_NEAR(*fixed.mean(Measure::kDensity), .189, 5e-4);
}

}  // namespace
}  // namespace filigree::inspect
