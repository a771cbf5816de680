// The search with every combination of options and constraints, against the plain one.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "filigree/translate/search.h"
#include "tests/translate/reference_search.h"

namespace filigree::translate {
namespace {

constexpr int kEnd = ScoreTable::kEnd;

/// What to search for and how, drawn at random.
struct Setting {
  int vocabulary;
  double zeros;
  SearchOptions options;
  std::vector<uint64_t> sentences;
  std::vector<int> lengths;
  std::vector<PlainConstraints> constraints;
};

Tokens random_tokens(Random& random, int vocabulary, int least, int most) {
  Tokens tokens(least + random.below(most - least + 1));
  for (int& token : tokens) token = static_cast<int>(2 + random.below(vocabulary - 2));
  return tokens;
}

template <typename T>
T one_of(Random& random, std::initializer_list<T> values) {
  return values.begin()[random.below(values.size())];
}

Setting random_setting(uint64_t seed, int least_vocabulary = 4, int most_vocabulary = 8) {
  Random random(seed);
  Setting s;
  s.vocabulary =
      static_cast<int>(least_vocabulary + random.below(most_vocabulary - least_vocabulary + 1));
  s.zeros = one_of(random, {0.0, 0.3, 0.7});
  SearchOptions& o = s.options;
  o.beam_size = static_cast<int>(1 + random.below(6));
  o.n_best = static_cast<int>(1 + random.below(o.beam_size));
  o.length_penalty = one_of(random, {1.0, 0.0, 0.6, 2.0, -0.5});
  o.word_penalty = one_of(random, {0.0, 0.0, 0.5, -0.5});
  o.repetition_penalty = one_of(random, {1.0, 1.0, 1.3, 3.0});
  o.coverage_penalty = one_of(random, {0.0, 0.2, 1.0});
  o.max_length_factor = one_of(random, {0.0, 1.0, 1.5});
  o.max_length_offset = static_cast<int>(random.below(6));
  o.min_length_factor = one_of(random, {0.0, 0.0, 0.7});
  o.min_length = one_of(random, {0, 0, 3});
  o.no_repeat_ngram_size = one_of(random, {0, 0, 1, 2, 3});
  if (random.below(3) == 0) o.suppressed = {2};
  std::vector<Tokens> banned;
  for (uint64_t i = random.below(3); i > 0; --i) {
    banned.push_back(random_tokens(random, s.vocabulary, 1, 3));
  }
  if (!banned.empty()) {
    PhraseGraph graph;
    for (const Tokens& phrase : banned) graph.add_path(phrase);
    o.banned = std::make_shared<const PhraseGraph>(graph);
  }
  const bool prefixes = random.below(2), phrases = random.below(2);
  for (int i = 0; i < 4; ++i) {
    s.sentences.push_back(random.next());
    s.lengths.push_back(static_cast<int>(1 + random.below(4)));
    PlainConstraints c;
    c.banned = banned;
    if (prefixes && random.below(2)) c.prefix = random_tokens(random, s.vocabulary, 1, 3);
    if (prefixes && random.below(2)) {
      c.after_prefix = random_tokens(random, s.vocabulary, 1, 3);
      const std::set<int> distinct(c.after_prefix.begin(), c.after_prefix.end());
      c.after_prefix.assign(distinct.rbegin(), distinct.rend());
      if (random.below(2)) c.after_prefix.push_back(kEnd);
    }
    for (uint64_t n = phrases ? random.below(3) : 0; n > 0; --n) {
      RequiredPhrase ways = {random_tokens(random, s.vocabulary, 1, 3)};
      if (random.below(2)) ways.push_back(random_tokens(random, s.vocabulary, 1, 3));
      c.required.push_back(ways);
    }
    s.constraints.push_back(c);
  }
  return s;
}

std::vector<SentenceToSearch> to_search(const Setting& s) {
  std::vector<SentenceToSearch> sentences;
  for (size_t i = 0; i < s.sentences.size(); ++i) {
    const PlainConstraints& c = s.constraints[i];
    sentences.push_back({s.lengths[i], {c.prefix, c.after_prefix, RequiredPhrases(c.required)}});
  }
  return sentences;
}

TEST(SearchRules, EveryCombinationEqualsThePlainSearch) {
  int complete = 0, impossible = 0, with_required = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    const Setting s = random_setting(seed);
    ScoreTable table(s.sentences, s.vocabulary, s.zeros);
    if (s.options.coverage_penalty > 0) table.give_attention(s.lengths);
    const auto found = beam_search(table, to_search(s), s.options);
    for (size_t i = 0; i < s.sentences.size(); ++i) {
      const PlainModel model = plain_model(table, s.sentences[i], s.lengths[i]);
      const auto expected = ReferenceSearch(model, s.options, s.constraints[i]).run();
      ASSERT_EQ(found[i].size(), expected.size());
      for (size_t n = 0; n < expected.size(); ++n) {
        const Hypothesis &a = found[i][n], &b = expected[n];
        ASSERT_EQ(a.tokens, b.tokens);
        ASSERT_NEAR(a.score, b.score, 1e-5);
        ASSERT_EQ(a.token_log_probabilities, b.token_log_probabilities);
        ASSERT_EQ(std::isinf(a.log_probability), std::isinf(b.log_probability));
        ASSERT_EQ(a.impossible, b.impossible);
        ASSERT_EQ(a.complete, b.complete);
        ASSERT_EQ(a.has_required, b.has_required);
        complete += a.complete;
        impossible += a.impossible > 0;
        with_required += !s.constraints[i].required.empty() && a.has_required;
      }
    }
  }
  // The settings reach what they are meant to reach.
  EXPECT_GT(complete, 10000);
  EXPECT_GT(impossible, 1000);
  EXPECT_GT(with_required, 1000);
}

/// Every output that the constraints allow and that has a probability above zero, best first.
class Enumeration {
 public:
  Enumeration(const ScoreTable& table, uint64_t sentence, int source_length,
              const SearchOptions& options, const PlainConstraints& constraints)
      : table_(table), sentence_(sentence), length_(source_length), o_(options), c_(constraints) {
    extend({}, 0);
    std::stable_sort(all_.begin(), all_.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
  }
  const std::vector<std::pair<Tokens, double>>& all() const { return all_; }

 private:
  void extend(const Tokens& tokens, double sum) {
    const auto scores = table_.log_probabilities_of(sentence_, tokens);
    const int length = static_cast<int>(tokens.size());
    if (length >= o_.min_length_for(length_) && std::isfinite(scores[kEnd]) && legal(tokens)) {
      const double words = length + 1.0;
      all_.emplace_back(tokens, (sum + scores[kEnd] - o_.word_penalty * words) /
                                    std::pow(words, o_.length_penalty));
    }
    if (length == o_.max_length(length_)) return;
    for (int token = 2; token < static_cast<int>(scores.size()); ++token) {
      if (!std::isfinite(scores[token])) continue;
      Tokens longer = tokens;
      longer.push_back(token);
      const bool repeats = std::count(tokens.begin(), tokens.end(), token) > 0;
      extend(longer, sum + scores[token] * (repeats ? o_.repetition_penalty : 1));
    }
  }
  bool legal(const Tokens& tokens) const {
    if (!std::equal(c_.prefix.begin(),
                    c_.prefix.begin() + std::min(tokens.size(), c_.prefix.size()),
                    tokens.begin()) ||
        tokens.size() < c_.prefix.size()) {
      return false;
    }
    for (const Tokens& phrase : c_.banned) {
      if (contains_sequence(tokens, phrase)) return false;
    }
    const auto n = static_cast<size_t>(o_.no_repeat_ngram_size);
    std::set<Tokens> ngrams;
    for (size_t i = 0; n > 0 && i + n <= tokens.size(); ++i) {
      if (!ngrams.insert({tokens.begin() + i, tokens.begin() + i + n}).second) return false;
    }
    return std::all_of(c_.required.begin(), c_.required.end(), [&](const RequiredPhrase& phrase) {
      return std::any_of(phrase.begin(), phrase.end(),
                         [&](const Tokens& way) { return contains_sequence(tokens, way); });
    });
  }

  const ScoreTable& table_;
  uint64_t sentence_;
  int length_;
  const SearchOptions& o_;
  const PlainConstraints& c_;
  std::vector<std::pair<Tokens, double>> all_;
};

TEST(SearchRules, LargeBeamFindsTheBestOfAllOutputsThatTheRulesAllow) {
  int compared = 0;
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Setting s = random_setting(seed, 4, 5);
    s.options.beam_size = 5000;
    s.options.n_best = 5;
    s.options.coverage_penalty = 0;
    s.options.suppressed.clear();
    s.options.max_length_factor = 0;
    s.options.max_length_offset = 4;
    for (PlainConstraints& c : s.constraints) {
      c.after_prefix.clear();
      // Phrases that could overlap are given room for both.
      if (c.required.size() > 1) c.required.resize(1);
    }
    ScoreTable table(s.sentences, s.vocabulary, s.zeros);
    const auto found = beam_search(table, to_search(s), s.options);
    for (size_t i = 0; i < s.sentences.size(); ++i) {
      if (!found[i][0].has_required) continue;  // They do not fit.
      const Enumeration expected(table, s.sentences[i], s.lengths[i], s.options, s.constraints[i]);
      for (size_t n = 0; n < std::min<size_t>(5, expected.all().size()); ++n) {
        ASSERT_LT(n, found[i].size());
        ASSERT_EQ(found[i][n].tokens, expected.all()[n].first);
        ASSERT_NEAR(found[i][n].score, expected.all()[n].second, 1e-5);
        ++compared;
      }
    }
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace filigree::translate
