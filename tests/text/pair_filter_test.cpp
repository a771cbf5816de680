#include "filigree/text/pair_filter.h"

#include <gmock/gmock.h>

#include <set>

#include "filigree/base/random.h"
#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

TEST(PairFilter, TheFirstReasonCounts) {
  const PairFilter filter(
      {.max_length = 10, .max_length_ratio = 2, .drop_identical = true, .target_script = "Cyrl"});
  const SentencePair same{"a", "a"}, foreign{"a", "b"}, good{"a", "б"};
  EXPECT_EQ(filter.judge(same, 0, 0), &SourceReport::empty_source);
  EXPECT_EQ(filter.judge(same, 1, 0), &SourceReport::empty_target);
  EXPECT_EQ(filter.judge(same, 11, 1), &SourceReport::too_long);
  EXPECT_EQ(filter.judge(same, 10, 4), &SourceReport::length_ratio);
  EXPECT_EQ(filter.judge(same, 10, 10), &SourceReport::identical);
  EXPECT_EQ(filter.judge(foreign, 10, 10), &SourceReport::wrong_script);
  EXPECT_EQ(filter.judge(good, 10, 10), &SourceReport::kept);
}

TEST(PairFilter, TheRatioIsThatOfTheLongerSideWhicheverItIs) {
  const PairFilter filter({.max_length_ratio = 1.5});
  const SentencePair pair{"a", "b"};
  EXPECT_EQ(filter.judge(pair, 6, 4), &SourceReport::kept);
  EXPECT_EQ(filter.judge(pair, 4, 6), &SourceReport::kept);
  EXPECT_EQ(filter.judge(pair, 7, 4), &SourceReport::length_ratio);
  EXPECT_EQ(filter.judge(pair, 4, 7), &SourceReport::length_ratio);
}

TEST(PairFilter, TheShareOfTheScriptIsALimit) {
  const SentencePair pair{"abcд", "x"};
  EXPECT_EQ(PairFilter({.source_script = "Latin", .min_script_share = 0.75}).judge(pair, 1, 1),
            &SourceReport::kept);
  EXPECT_EQ(PairFilter({.source_script = "Latin", .min_script_share = 0.76}).judge(pair, 1, 1),
            &SourceReport::wrong_script);
}

TEST(PairFilter, ByDefaultOnlyEmptyAndLongPairsAreLeftOut) {
  EXPECT_EQ(PairFilter({}).judge({"д", "д"}, 1, 256), &SourceReport::kept);
  EXPECT_EQ(PairFilter({}).judge({"д", "д"}, 1, 257), &SourceReport::too_long);
}

TEST(PairFilter, OptionsOutOfRangeAreUsageErrors) {
  EXPECT_THROWS(PairFilter({.max_length_ratio = 0.5}), UsageError,
                "the maximum length ratio must be at least 1, or 0 for any, got 0.5");
  EXPECT_THROWS(PairFilter({.min_script_share = 2}), UsageError,
                "the share of letters in a script must be between 0 and 1, got 2");
}

TEST(HashSet, KnowsWhatWasInserted) {
  HashSet set;
  std::set<uint64_t> truth;
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    // Few different values, zero among them, in the low and in the high bits.
    const uint64_t hash = random.below(20'000) << (i % 2 * 40);
    EXPECT_EQ(set.insert(hash == 1 ? 2 : hash), truth.insert(hash == 1 ? 2 : hash).second);
  }
  EXPECT_EQ(set.size(), static_cast<int64_t>(truth.size()));
}

TEST(HashOfAPair, TellsTheSidesApart) {
  const std::set<uint64_t> hashes = {hash_of({"ab", "c"}), hash_of({"a", "bc"}),
                                     hash_of({"abc", ""}), hash_of({"", "abc"}),
                                     hash_of({"c", "ab"})};
  EXPECT_EQ(hashes.size(), 5u);
}

}  // namespace
}  // namespace filigree::text
