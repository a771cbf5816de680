#include "filigree/text/demo_corpus.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "filigree/base/files.h"
#include "filigree/text/demo_links.h"
#include "filigree/text/words.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

using test::TemporaryFolder;
using testing::Contains;

class DemoCorpusOf : public testing::TestWithParam<std::string> {};

TEST_P(DemoCorpusOf, NoSentenceOccursTwice) {
  const DemoCorpus corpus = make_demo_corpus({.target_language = GetParam(), .train_size = 8000});
  EXPECT_EQ(corpus.train.size(), 8000u);
  EXPECT_EQ(corpus.valid.size(), 500u);
  EXPECT_EQ(corpus.test.size(), 1000u);
  std::set<std::string> sources, targets;
  for (const auto* set : {&corpus.train, &corpus.valid, &corpus.test}) {
    for (const SentencePair& pair : *set) {
      EXPECT_TRUE(sources.insert(pair.source).second) << pair.source;
      EXPECT_TRUE(targets.insert(pair.target).second) << pair.target;
    }
  }
}

TEST_P(DemoCorpusOf, TheTokenizerGivesEverySentenceBack) {
  const TemporaryFolder folder;
  const DemoCorpus corpus = make_demo_corpus({.target_language = GetParam(), .train_size = 3000});
  write_demo_corpus(corpus, folder.path());
  const Tokenizer tokenizer =
      train_tokenizer(corpus_lines({demo_files(folder.path(), "train", GetParam())}, Side::kBoth),
                      demo_tokenizer_options());
  for (const auto* set : {&corpus.train, &corpus.valid, &corpus.test}) {
    for (const SentencePair& pair : *set) {
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(pair.source)), pair.source);
      ASSERT_EQ(tokenizer.decode(tokenizer.encode(pair.target)), pair.target);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Languages, DemoCorpusOf, testing::Values("de", "ja", "ro"),
                         [](const auto& info) { return info.param; });

TEST(DemoCorpus, TrainsOnEveryNumberBelowOneHundred) {
  const DemoCorpus german = make_demo_corpus({.train_size = 100});
  EXPECT_EQ(german.train[0], (SentencePair{"zero", "null"}));
  EXPECT_EQ(german.train[21], (SentencePair{"twenty-one", "einundzwanzig"}));
  EXPECT_EQ(german.train[99], (SentencePair{"ninety-nine", "neunundneunzig"}));
}

TEST(DemoCorpus, MixesNumbersAndDates) {
  const DemoCorpus corpus = make_demo_corpus({.train_size = 100});
  const auto dates = std::count_if(
      corpus.test.begin(), corpus.test.end(),
      [](const SentencePair& pair) { return pair.source.find(',') != std::string::npos; });
  EXPECT_NEAR(static_cast<double>(dates), 400, 60);
  const auto thousands = std::count_if(
      corpus.test.begin(), corpus.test.end(),
      [](const SentencePair& pair) { return pair.target.find("tausend") != std::string::npos; });
  EXPECT_NEAR(static_cast<double>(thousands), 450, 60);
}

TEST(DemoCorpus, IsAFunctionOfItsOptions) {
  const DemoCorpusOptions options{.train_size = 500};
  EXPECT_EQ(make_demo_corpus(options).train, make_demo_corpus(options).train);
  DemoCorpusOptions other = options;
  other.seed = 2;
  EXPECT_NE(make_demo_corpus(options).test, make_demo_corpus(other).test);
}

TEST(DemoCorpus, LanguagesShareTheirItems) {
  const DemoCorpus german = make_demo_corpus({.target_language = "de", .train_size = 500}),
                   japanese = make_demo_corpus({.target_language = "ja", .train_size = 500});
  for (size_t i = 0; i < german.test.size(); ++i) {
    EXPECT_EQ(german.test[i].source, japanese.test[i].source);
  }
}

TEST(DemoCorpus, IsWrittenAsPlainFiles) {
  const TemporaryFolder folder;
  const DemoCorpus corpus =
      make_demo_corpus({.train_size = 200, .valid_size = 10, .test_size = 20});
  write_demo_corpus(corpus, folder.path() / "data");
  EXPECT_EQ(read_pairs(demo_files(folder.path() / "data", "train", "de")), corpus.train);
  EXPECT_EQ(read_pairs(demo_files(folder.path() / "data", "valid", "de")), corpus.valid);
  EXPECT_EQ(read_pairs(demo_files(folder.path() / "data", "test", "de")), corpus.test);
  EXPECT_THAT(read_lines(folder.path() / "data" / "train.de"), Contains("einundzwanzig"));
}

TEST(DemoCorpus, OptionsOutOfRangeAreUsageErrors) {
  EXPECT_THROWS(make_demo_corpus({.target_language = "fr"}), UsageError,
                "the demo corpus speaks de, ja and ro, not 'fr'");
  EXPECT_THROWS(
      make_demo_corpus({.train_size = 99}), UsageError,
      "the demo corpus needs at least 100 pairs to train on, 1 to validate and 1 to test");
  EXPECT_THROWS(make_demo_corpus({.train_size = 500'000}), UsageError,
                "the demo corpus has at most 500000 pairs");
}

TEST(DemoLinks, JoinWhatStandsForTheSame) {
  EXPECT_EQ(demo_links({"three hundred forty-two", "trei sute patruzeci și doi"}),
            "0-0 1-1 2-2 2?3 2-4");
  EXPECT_EQ(demo_links({"one hundred five thousand five hundred twenty",
                        "una sută cinci mii cinci sute douăzeci"}),
            "0-0 1-1 2-2 3-3 4-4 5-5 6-6");
  EXPECT_EQ(demo_links({"one thousand eleven", "una mie unsprezece"}), "0-0 1-1 2-2");
  EXPECT_EQ(demo_links({"Friday, June 13, 2008", "vineri, 13 iunie 2008"}), "0-0 1-2 2-1 3-3");
  EXPECT_EQ(demo_links({"three hundred two", "dreihundertzwei"}), "0-0 1-0 2-0");
  EXPECT_EQ(demo_links({"Friday, June 13, 2008", "2008年6月13日金曜日"}), "0-0 1-0 2-0 3-0");
}

TEST(DemoLinks, LeaveNoWordOut) {
  for (const char* language : {"de", "ja", "ro"}) {
    const DemoCorpus corpus = make_demo_corpus({.target_language = language, .train_size = 100});
    for (const SentencePair& pair : corpus.test) {
      std::set<size_t> sources, targets;
      const std::string links = demo_links(pair);
      for (const Range& word : words_of(links)) {
        const std::string link = links.substr(word.begin, word.end - word.begin);
        const size_t between = link.find_first_of("-?");
        sources.insert(std::stoul(link));
        targets.insert(std::stoul(link.substr(between + 1)));
      }
      ASSERT_EQ(sources.size(), words_of(pair.source).size()) << pair.source << links;
      ASSERT_EQ(targets.size(), words_of(pair.target).size()) << pair.target << links;
    }
  }
}

TEST(DemoLinks, AreWrittenBesideTheHeldOutPairs) {
  const TemporaryFolder folder;
  const DemoCorpus corpus = make_demo_corpus({.train_size = 100});
  write_demo_corpus(corpus, folder.path());
  const auto lines = read_lines(folder.path() / "test.links");
  ASSERT_EQ(lines.size(), corpus.test.size());
  EXPECT_EQ(lines[7], demo_links(corpus.test[7]));
  EXPECT_EQ(read_lines(folder.path() / "valid.links").size(), corpus.valid.size());
}

}  // namespace
}  // namespace filigree::text
