#include "filigree/text/pair_reader.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <string>

#include "tests/support/temporary_folder.h"
#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

using test::TemporaryFolder;
using testing::ElementsAre;

std::vector<std::string> all_lines(const LineSource& lines) {
  std::vector<std::string> all;
  for (std::string line; lines(line);) all.push_back(line);
  return all;
}

TEST(PairReader, ReadsTwoFilesSideBySide) {
  const TemporaryFolder folder;
  const CorpusSource source{.source = folder.write("a.en", "one\n\nthree\n"),
                            .target = folder.write("a.de", "eins\nzwei\ndrei\n")};
  EXPECT_THAT(read_pairs(source), ElementsAre(SentencePair{"one", "eins"}, SentencePair{"", "zwei"},
                                              SentencePair{"three", "drei"}));
}

TEST(PairReader, ReadsCompressedFiles) {
  const TemporaryFolder folder;
  gzFile file = gzopen((folder / "a.en.gz").c_str(), "wb");
  gzputs(file, "one\ntwo\n");
  gzclose(file);
  const CorpusSource source{.source = folder / "a.en.gz",
                            .target = folder.write("a.de", "eins\nzwei\n")};
  EXPECT_THAT(read_pairs(source),
              ElementsAre(SentencePair{"one", "eins"}, SentencePair{"two", "zwei"}));
}

TEST(PairReader, ReadsTabSeparatedPairs) {
  const TemporaryFolder folder;
  const CorpusSource source{.source = folder.write("a.tsv", "one\teins\r\n\tzwei\nthree\t\n"),
                            .tsv = true};
  EXPECT_THAT(read_pairs(source), ElementsAre(SentencePair{"one", "eins"}, SentencePair{"", "zwei"},
                                              SentencePair{"three", ""}));
}

TEST(PairReader, TsvLineWithoutATabIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.tsv", "one\teins\ntwo zwei\n");
  EXPECT_THROWS(read_pairs({.source = path, .tsv = true}), Error,
                path + ":2: has no tab; expected source<TAB>target");
}

TEST(PairReader, TsvLineWithTwoTabsIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.write("a.tsv", "one\teins\t1\n");
  EXPECT_THROWS(read_pairs({.source = path, .tsv = true}), Error,
                path + ":1: has more than one tab; expected source<TAB>target");
}

TEST(PairReader, UnequalLengthsNameBothFilesAndBothCounts) {
  const TemporaryFolder folder;
  const std::string two = folder.write("two", "a\nb\n"),
                    five = folder.write("five", "1\n2\n3\n4\n5");
  const std::string message = two + " ends after 2 lines, but " + five +
                              " has 5; line n of one must translate line n of the other";
  EXPECT_THROWS(read_pairs({.source = two, .target = five}), Error, message);
  EXPECT_THROWS(read_pairs({.source = five, .target = two}), Error, message);
}

TEST(PairReader, EmptyFileIsAnError) {
  const TemporaryFolder folder;
  const std::string empty = folder.write("empty", ""), full = folder.write("full", "a\n");
  EXPECT_THROWS(read_pairs({.source = empty, .target = empty}), Error, empty + ": is empty");
  EXPECT_THROWS(read_pairs({.source = full, .target = empty}), Error, empty + ": is empty");
  EXPECT_THROWS(read_pairs({.source = empty, .target = full}), Error, empty + ": is empty");
  EXPECT_THROWS(read_pairs({.source = empty, .tsv = true}), Error, empty + ": is empty");
}

TEST(PairReader, ABadLineOnEitherSideIsAFaultOfThePair) {
  const TemporaryFolder folder;
  PairReader reader(
      {.source = folder.write("a", "x\n\xFF\ny\n"), .target = folder.write("b", "x\ny\n\xFF\n")},
      BadLines::kDrop);
  std::vector<LineFault> faults;
  while (reader.next()) faults.push_back(reader.fault());
  EXPECT_THAT(faults,
              ElementsAre(LineFault::kNone, LineFault::kInvalidUtf8, LineFault::kInvalidUtf8));
}

TEST(CorpusLines, GivesTheChosenSideOfEveryCorpus) {
  const TemporaryFolder folder;
  const std::vector<CorpusSource> sources = {
      {.source = folder.write("a.en", "one\ntwo\n"),
       .target = folder.write("a.de", "eins\nzwei\n")},
      {.source = folder.write("b.tsv", "three\tdrei\n"), .tsv = true}};
  EXPECT_THAT(all_lines(corpus_lines(sources, Side::kSource)), ElementsAre("one", "two", "three"));
  EXPECT_THAT(all_lines(corpus_lines(sources, Side::kTarget)), ElementsAre("eins", "zwei", "drei"));
  EXPECT_THAT(all_lines(corpus_lines(sources, Side::kBoth)),
              ElementsAre("one", "eins", "two", "zwei", "three", "drei"));
}

TEST(CorpusLines, LeavesBadLinesOutWhenAsked) {
  const TemporaryFolder folder;
  const CorpusSource source{.source = folder.write("a", "one\n\xFF\nthree\n"),
                            .target = folder.write("b", "eins\nzwei\ndrei\n")};
  EXPECT_THAT(all_lines(corpus_lines({source}, Side::kBoth, BadLines::kDrop)),
              ElementsAre("one", "eins", "three", "drei"));
  EXPECT_THROW(all_lines(corpus_lines({source}, Side::kBoth)), Error);
}

}  // namespace
}  // namespace filigree::text
