#include "filigree/text/corpus_builder.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "filigree/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/matchers.h"
#include "tests/text/small_text.h"

namespace filigree::text {
namespace {

using test::small_tokenizer;
using test::TemporaryFolder;
using testing::ElementsAre;

std::vector<int> ids(std::span<const int32_t> span) { return {span.begin(), span.end()}; }

/// Builds the file and reads it whole.
ParallelCorpus read(const CorpusOptions& options, CorpusReport& report) {
  const TemporaryFolder folder;
  {
    PairStoreWriter writer(folder / "corpus.pairs", small_tokenizer().size());
    report = build_corpus(options, small_tokenizer(), small_tokenizer(), writer);
  }
  const PairStore store(folder / "corpus.pairs");
  ParallelCorpus corpus;
  std::vector<int32_t> source, target;
  for (int64_t i = 0; i < store.size(); ++i) {
    store.read(i, source, target);
    corpus.add(source, target);
  }
  return corpus;
}

TEST(Corpus, HoldsTheTokensOfEveryPairInOrder) {
  const TemporaryFolder folder;
  const CorpusOptions options{
      .sources = {{.source = folder.write("a.en", "the cat\nthe dog and the cat\n"),
                   .target = folder.write("a.de", "die Katze\nder Hund und die Katze\n")}}};
  CorpusReport report;
  const ParallelCorpus corpus = read(options, report);
  ASSERT_EQ(corpus.size(), 2);
  EXPECT_EQ(ids(corpus.source(0)), small_tokenizer().encode("the cat"));
  EXPECT_EQ(ids(corpus.target(0)), small_tokenizer().encode("die Katze"));
  EXPECT_EQ(ids(corpus.source(1)), small_tokenizer().encode("the dog and the cat"));
  EXPECT_EQ(ids(corpus.target(1)), small_tokenizer().encode("der Hund und die Katze"));
  EXPECT_EQ(corpus.source_length(1), static_cast<int64_t>(corpus.source(1).size()));
  EXPECT_EQ(report.sources[0].source_tokens, corpus.source_length(0) + corpus.source_length(1));
  EXPECT_EQ(report.sources[0].target_tokens, corpus.target_length(0) + corpus.target_length(1));
}

TEST(Corpus, SourcesComeOneAfterTheOther) {
  const TemporaryFolder folder;
  const CorpusOptions options{
      .sources = {{.source = folder.write("a.tsv", "a cat\teine Katze\n\tx\n"), .tsv = true},
                  {.source = folder.write("b.tsv", "the dog\tder Hund\nthe man\tder Mann\n"),
                   .tsv = true,
                   .weight = 2}}};
  CorpusReport report;
  const ParallelCorpus corpus = read(options, report);
  ASSERT_EQ(corpus.size(), 3);
  EXPECT_EQ(report.sources[0].kept, 1);
  EXPECT_EQ(report.sources[1].kept, 2);
  EXPECT_EQ(ids(corpus.source(1)), small_tokenizer().encode("the dog"));
}

TEST(Corpus, ReportCountsEveryReasonOnce) {
  const TemporaryFolder folder;
  const std::string text = std::string("a cat\teine Katze\n") + " \teine Katze\n" + "a cat\t \n" +
                           "\t\n" + "\xFF\tx\n" + std::string("\0\tx\n", 4) +
                           "a cat a cat a cat a cat\tx\n";
  const CorpusOptions options{.sources = {{.source = folder.write("a.tsv", text), .tsv = true}},
                              .filters = {.max_length = 7},
                              .bad_lines = BadLines::kDrop};
  CorpusReport report;
  EXPECT_EQ(read(options, report).size(), 1);
  ASSERT_EQ(report.sources.size(), 1u);
  const SourceReport& counts = report.sources[0];
  EXPECT_EQ(counts.name, folder / "a.tsv");
  EXPECT_EQ(counts.read, 7);
  EXPECT_EQ(counts.kept, 1);
  EXPECT_EQ(counts.empty_source, 2);
  EXPECT_EQ(counts.empty_target, 1);
  EXPECT_EQ(counts.invalid_utf8, 1);
  EXPECT_EQ(counts.nul_bytes, 1);
  EXPECT_EQ(counts.too_long, 1);
}

TEST(Corpus, PairsAtTheMaximumLengthAreKept) {
  const TemporaryFolder folder;
  const int length = static_cast<int>(small_tokenizer().encode("the cat sits on the mat").size());
  CorpusOptions options{
      .sources = {{.source = folder.write("a.tsv", "a\tthe cat sits on the mat\na\ta\n"),
                   .tsv = true}},
      .filters = {.max_length = length}};
  CorpusReport report;
  EXPECT_EQ(read(options, report).size(), 2);
  options.filters.max_length = length - 1;
  EXPECT_EQ(read(options, report).size(), 1);
}

TEST(Corpus, DoesNotDependOnTheNumberOfThreads) {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 20'000; ++i) {
    const auto& lines = test::small_text();
    text += lines[i % 10] + "\t" + lines[(i * 7 + i / 10) % 10] + "\n";
  }
  CorpusOptions options{.sources = {{.source = folder.write("a.tsv", text), .tsv = true}}};
  CorpusReport report_of_one, report_of_three;
  options.threads = 1;
  const ParallelCorpus one = read(options, report_of_one);
  options.threads = 3;
  const ParallelCorpus three = read(options, report_of_three);
  ASSERT_EQ(one.size(), 20'000);
  ASSERT_EQ(three.size(), one.size());
  for (int64_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(ids(one.source(i)), ids(three.source(i))) << i;
    ASSERT_EQ(ids(one.target(i)), ids(three.target(i))) << i;
  }
  EXPECT_EQ(report_of_one.table(), report_of_three.table());
}

TEST(Corpus, ASourceWithoutAUsablePairIsAnError) {
  const TemporaryFolder folder;
  const std::string good = folder.write("good.tsv", "a\ta\n");
  const std::string bad = folder.write("bad.tsv", "\tx\n\ty\nthe cat\tthe mat\n");
  const CorpusOptions options{
      .sources = {{.source = good, .tsv = true}, {.source = bad, .tsv = true}},
      .filters = {.max_length = 1}};
  CorpusReport report;
  EXPECT_THROWS(read(options, report), Error,
                bad + ": none of the 3 pairs can be used (2 with an empty source, 1 too long)");
}

TEST(Corpus, EveryFilterHasItsCount) {
  const TemporaryFolder folder;
  const std::string first =
                        "the cat\tdie Katze\n"                                     // kept
                        "the dog\tthe dog\n"                                       // identical
                        "the cat\tdie Katze\n"                                     // duplicate
                        "a\tdie Katze sitzt auf der Matte\n"                       // length ratio
                        "\xD0\xB4\xD0\xB0 \xD0\xB4\xD0\xB0 \xD0\xB4\tdie Katze\n"  // Cyrillic
                        "123\t123 456\n",  // no letters: kept
      second = "the cat\tdie Katze\nthe man\tder Mann\n";
  const CorpusOptions options{.sources = {{.source = folder.write("a.tsv", first), .tsv = true},
                                          {.source = folder.write("b.tsv", second), .tsv = true}},
                              .filters = {.max_length_ratio = 4,
                                          .drop_identical = true,
                                          .drop_duplicates = true,
                                          .source_script = "Latin"}};
  CorpusReport report;
  EXPECT_EQ(read(options, report).size(), 3);
  const SourceReport& a = report.sources[0];
  EXPECT_EQ(a.kept, 2);
  EXPECT_EQ(a.identical, 1);
  EXPECT_EQ(a.duplicates, 1);
  EXPECT_EQ(a.length_ratio, 1);
  EXPECT_EQ(a.wrong_script, 1);
  EXPECT_EQ(report.sources[1].duplicates, 1);
  EXPECT_EQ(report.sources[1].kept, 1);
  EXPECT_EQ(report.summary(),
            "left out 5 of 8 pairs: 1 of unlike lengths, 1 identical, 1 in the wrong script, 2 "
            "duplicates");
  CorpusReport of_all;
  read({.sources = options.sources}, of_all);
  EXPECT_EQ(of_all.total().kept, 8);
}

TEST(Corpus, LinesOfManyMegabytesAreRead) {
  const TemporaryFolder folder;
  const std::string blank(3 << 20, ' ');  // Fast to tokenise.
  std::string text;
  for (int i = 0; i < 12; ++i) text += blank + "\ta\n";
  const CorpusOptions options{
      .sources = {{.source = folder.write("a.tsv", text + "a\ta\n"), .tsv = true}}};
  CorpusReport report;
  EXPECT_EQ(read(options, report).size(), 1);
  EXPECT_EQ(report.sources[0].empty_source, 12);
}

TEST(Corpus, InvalidUtf8IsAnErrorByDefault) {
  const TemporaryFolder folder;
  const std::string target = folder.write("a.de", "x\n\xFF\n");
  const CorpusOptions options{
      .sources = {{.source = folder.write("a.en", "a\nb\n"), .target = target}}};
  CorpusReport report;
  EXPECT_THROWS(read(options, report), Error,
                target + ":2: byte 1 is not valid UTF-8; convert the file to UTF-8");
}

TEST(Corpus, OptionsOutOfRangeAreUsageErrors) {
  CorpusReport report;
  EXPECT_THROWS(read({}, report), UsageError, "no training corpus was given");
  EXPECT_THROWS(read({.sources = {{.source = "a"}}}, report), UsageError,
                "a: the file with the translations is missing");
  EXPECT_THROWS(read({.sources = {{.source = "a", .target = "b", .tsv = true}}}, report),
                UsageError, "a: a TSV corpus is one file with both sides");
  EXPECT_THROWS(read({.sources = {{.source = "a", .target = "b", .weight = 0}}}, report),
                UsageError, "a + b: the weight must be above 0, got 0");
  EXPECT_THROWS(
      read({.sources = {{.source = "a", .target = "b"}}, .filters = {.max_length = 0}}, report),
      UsageError, "the maximum length must be at least 1, got 0");
  EXPECT_THROWS(read({.sources = {{.source = "a", .target = "b"}}, .threads = -1}, report),
                UsageError, "threads must not be negative, got -1");
}

}  // namespace
}  // namespace filigree::text
