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

}  // namespace
}  // namespace filigree::text
