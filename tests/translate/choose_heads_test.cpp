#include "filigree/translate/choose_heads.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "filigree/base/random.h"

namespace filigree::translate {
namespace {

using evaluate::Link;
using testing::ElementsAre;

/// Three words on each side, one piece each. Head 0 looks everywhere, head 1 at the word itself,
/// but one step too late, head 2 at all but the first word, head 3 at all but the second and head 4
/// at the first word only.
Translation three_words() {
  Translation translation;
  translation.source = {"a b c", {"a", "b", "c"}, {{0, 1}, {1, 3}, {3, 5}}};
  Output output;
  output.text = "x y z";
  output.pieces = {"x", "y", "z"};
  output.places = {{0, 1}, {1, 3}, {3, 5}};
  for (int step = 0; step < 4; ++step) {
    AttentionRow row;
    for (int source = 0; source < 4; ++source) row.push_back({0, source, 0.25f});
    row.push_back({1, step == 0 ? 3 : step - 1, 1.f});
    for (const int source : {1, 2}) row.push_back({2, source, 0.5f});
    for (const int source : {0, 2}) row.push_back({3, source, 0.5f});
    row.push_back({4, 0, 1.f});
    output.attention.push_back(std::make_shared<AttentionRow>(row));
  }
  translation.n_best = {output};
  return translation;
}

AttendedText attended(bool argmax = false) {
  model::ModelConfig config;
  config.decoder_layers = 1;
  config.heads = 5;
  if (argmax) config.cross_attention.transform = model::Transform::kSoftmax;
  AttendedText text(config);
  text.add(three_words());
  text.add(three_words());
  return text;
}

AlignmentScore closeness_to(const evaluate::Links& gold) {
  return accuracy_score({{gold, gold}, {gold, gold}});
}

TEST(ChooseHeads, FindsTheHeadAndTheShift) {
  const HeadChoice choice = choose_heads(attended(), closeness_to({{0, 0}, {1, 1}, {2, 2}}));
  EXPECT_THAT(choice.rule.heads, ElementsAre(1));
  EXPECT_TRUE(choice.rule.shift);
  EXPECT_EQ(choice.score, 1);
  ASSERT_EQ(choice.single_scores.size(), 10u);
  EXPECT_DOUBLE_EQ(choice.single_scores[0], 0.5);  // nine links, three of them right
}

TEST(ChooseHeads, AddsHeadsAsLongAsTheyHelp) {
  const evaluate::Links gold = {{2, 0}, {2, 1}, {2, 2}};
  const HeadChoice choice = choose_heads(attended(), closeness_to(gold));
  EXPECT_THAT(choice.rule.heads, ElementsAre(2, 3));
  EXPECT_EQ(choice.rule.votes, 0);
  EXPECT_EQ(choice.score, 1);
  EXPECT_DOUBLE_EQ(choice.single_scores[2], 2. / 3);  // six links, three of them right
}

TEST(ChooseHeads, TakesOneVoteWhereThatIsBetter) {
  const HeadChoice choice =
      choose_heads(attended(), closeness_to({{0, 0}, {0, 1}, {1, 1}, {2, 2}}));
  EXPECT_THAT(choice.rule.heads, ElementsAre(1, 4));
  EXPECT_EQ(choice.rule.votes, 1);
  EXPECT_DOUBLE_EQ(choice.score, 8. / 9);  // five links, four of them the right ones
}

/// κ from its definition, cell by cell.
double kappa(const AlignedText& a, const AlignedText& b, int side) {
  double observed = 0, expected = 0, cells = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    double in_a = 0, in_b = 0;
    for (int source = 0; source < side; ++source) {
      for (int target = 0; target < side; ++target) {
        const auto has = [&](const evaluate::Links& links) {
          return std::count(links.begin(), links.end(), Link{source, target}) > 0;
        };
        observed += has(a[i]) == has(b[i]);
        in_a += has(a[i]);
        in_b += has(b[i]);
      }
    }
    const double n = side * side;
    cells += n;
    expected += n * (in_a / n * in_b / n + (1 - in_a / n) * (1 - in_b / n));
  }
  return (observed / cells - expected / cells) / (1 - expected / cells);
}

TEST(Agreement, IsCohensKappa) {
  Random random(1);
  AlignedText a(20), b(20);
  for (size_t i = 0; i < a.size(); ++i) {
    for (int source = 0; source < 5; ++source) {
      for (int target = 0; target < 5; ++target) {
        const bool both = random.below(5) == 0;
        if (both || random.below(8) == 0) a[i].push_back({source, target});
        if (both || random.below(8) == 0) b[i].push_back({source, target});
      }
    }
  }
  const std::vector<int64_t> cells(20, 25);
  EXPECT_NEAR(agreement(a, b, cells), kappa(a, b, 5), 1e-12);
  EXPECT_NEAR(agreement(a, a, cells), 1, 1e-12);
}

TEST(Agreement, OfHeadsThatLookEverywhereIsNone) {
  const AlignedText all = attended().links({.heads = {0}});
  EXPECT_THAT(all[0], testing::SizeIs(9));
  EXPECT_EQ(agreement(all, all, attended().cells()), 0);
}

TEST(ChooseHeads, OfSoftmaxTakeTheLargestWeight) {
  EXPECT_THAT(attended(true).links({.heads = {0}, .argmax = true})[0],
              ElementsAre(Link{0, 0}, Link{0, 1}, Link{0, 2}));
  EXPECT_TRUE(attended(true).single_heads()[0].argmax);
}

TEST(MostAgreedLinks, AreThoseOfTheReverseModelWithSidesSwapped) {
  const AlignedText links = most_agreed_links(attended(), attended());
  EXPECT_THAT(links[1], ElementsAre(Link{0, 0}, Link{1, 1}, Link{2, 2}));
  AlignedText swapped = {{{0, 2}, {1, 0}}};
  swap_sides(swapped);
  EXPECT_THAT(swapped[0], ElementsAre(Link{0, 1}, Link{2, 0}));
}

}  // namespace
}  // namespace filigree::translate
