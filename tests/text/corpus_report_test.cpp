#include "filigree/text/corpus_report.h"

#include <gtest/gtest.h>

namespace filigree::text {
namespace {

TEST(CorpusReport, TableShowsOnlyReasonsThatOccurred) {
  const CorpusReport report{{{.name = "train.en + train.de",
                              .read = 29000,
                              .too_long = 12,
                              .kept = 28988,
                              .source_tokens = 414043,
                              .target_tokens = 428325}}};
  EXPECT_EQ(report.table(),
            "corpus                    read   too long       kept  source tokens  target tokens\n"
            "train.en + train.de      29000         12      28988         414043         428325\n");
}

TEST(CorpusReport, SeveralSourcesHaveATotal) {
  const CorpusReport report{{{.name = "a.tsv",
                              .read = 5,
                              .invalid_utf8 = 1,
                              .empty_source = 1,
                              .kept = 3,
                              .source_tokens = 30,
                              .target_tokens = 40},
                             {.name = "b.tsv",
                              .read = 4,
                              .nul_bytes = 1,
                              .empty_target = 1,
                              .kept = 2,
                              .source_tokens = 7,
                              .target_tokens = 8}}};
  EXPECT_EQ(report.table(),
            "corpus       read  invalid UTF-8  NUL bytes  empty source  empty target       kept  "
            "source tokens  target tokens\n"
            "a.tsv           5              1          0             1             0          3  "
            "           30             40\n"
            "b.tsv           4              0          1             0             1          2  "
            "            7              8\n"
            "total           9              1          1             1             1          5  "
            "           37             48\n");
}

TEST(CorpusReport, ReasonsAreListed) {
  const SourceReport report{.name = "a", .read = 9, .empty_source = 2, .too_long = 1};
  EXPECT_EQ(report.reasons(), "2 with an empty source, 1 too long");
}

TEST(CorpusReport, TheSummaryCountsOverAllSources) {
  const CorpusReport report{{{.name = "a", .read = 400'000, .too_long = 12'000, .kept = 388'000},
                             {.name = "b", .read = 40'288, .duplicates = 345, .kept = 39'943}}};
  EXPECT_EQ(report.summary(), "left out 12,345 of 440,288 pairs: 12,000 too long, 345 duplicates");
  EXPECT_EQ((CorpusReport{{{.read = 3, .kept = 3}}}.summary()), "");
}

TEST(CorpusReport, CountsAreEveryFieldInOrder) {
  SourceReport report;
  std::array<int64_t, SourceReport::kCounts> counts;
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<int64_t>(i + 1);
  report.set_counts(counts);
  EXPECT_EQ(report.counts(), counts);
  EXPECT_EQ(report.read, 1);
  EXPECT_EQ(report.kept, 11);
  EXPECT_EQ(report.target_tokens, 13);
}

}  // namespace
}  // namespace filigree::text
