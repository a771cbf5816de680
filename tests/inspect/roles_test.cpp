#include "filigree/inspect/roles.h"

#include <gmock/gmock.h>

#include "tests/inspect/random_attention.h"

namespace filigree::inspect {
namespace {

// Forty sentences of one encoder layer whose single head looks as `weights` says.
struct Text {
  Statistics statistics;
  Examples examples;
};

Text text_of(const std::function<float(size_t query, size_t key, size_t line)>& weight) {
  const SentenceTokens tokens{source_of("_a _b _c _d _e _f _g"), target_of("_x"), {}, {}};
  Text text;
  for (size_t line = 1; line <= 40; ++line) {
    Dense w(8, std::vector<float>(8));
    for (size_t q = 0; q < 8; ++q) {
      for (size_t k = 0; k < 8; ++k) w[q][k] = weight(q, k, line);
    }
    SentenceAttention attention;
    attention.of(AttentionBlock::kEncoder) = {{sparse(w)}};
    const Statistics sentence = measure_sentence(attention, tokens);
    text.statistics += sentence;
    text.examples.consider(sentence, static_cast<int64_t>(line));
  }
  return text;
}

std::vector<Role> roles_of(const Text& text) {
  return roles_of_head(text.statistics, AttentionBlock::kEncoder, 0, 0, text.examples, {});
}

TEST(Roles, APreviousTokenHeadIsNamedWithItsBestAndWorstSentence) {
  // The worst sentence is the 17th, the best the 23rd.
  const Text text = text_of([](size_t q, size_t k, size_t line) {
    const float share = line == 17 ? 0.5f : line == 23 ? 1.0f : 0.9f;
    return k + 1 == q || (q == 0 && k == 7) ? share : k == q ? 1 - share : 0.0f;
  });
  const std::vector<Role> roles = roles_of(text);
  ASSERT_EQ(roles.size(), 1u);
  EXPECT_EQ(roles[0].name, "previous token");
  EXPECT_EQ(roles[0].evidence, "offset_minus_1");
  EXPECT_NEAR(roles[0].value, (38 * 0.9 + 0.5 + 1) / 40, 1e-6);
  EXPECT_EQ(roles[0].examples.best->line, 23);
  EXPECT_EQ(roles[0].examples.worst->line, 17);
}

TEST(Roles, AUniformHeadIsBroadAndNothingElse) {
  const auto roles = roles_of(text_of([](size_t, size_t, size_t) { return 1 / 8.0f; }));
  ASSERT_EQ(roles.size(), 1u);
  EXPECT_EQ(roles[0].name, "broad");
}

TEST(Roles, AHeadBelowEveryThresholdHasNone) {
  const auto roles = roles_of(text_of([](size_t q, size_t k, size_t) {
    return k == (q + 3) % 8 ? 0.5f : k == (q + 5) % 8 ? 0.5f : 0.0f;
  }));
  EXPECT_TRUE(roles.empty());
}

}  // namespace
}  // namespace filigree::inspect
