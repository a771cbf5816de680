// A parallel corpus that comes with the program: numbers and dates in words, in English and in
// another language, made by ICU's rules.
//
//   three hundred forty-two       dreihundertzweiundvierzig
//   Friday, June 13, 2008         Freitag, 13. Juni 2008
//
// It is small enough to be learnt in minutes and still shows what a translation model must do: the
// units and tens of German change places, months and days move, and words are put together and
// taken apart. Every sentence has exactly one right translation, so that exact match is a fair
// score.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "filigree/text/pair_reader.h"
#include "filigree/text/tokenizer.h"

namespace filigree::text {

struct DemoCorpusOptions {
  std::string target_language = "de";  ///< de, ja or ro
  int train_size = 30'000;             ///< pairs to train on
  int valid_size = 500;                ///< held-out pairs to choose the best checkpoint by
  int test_size = 1000;                ///< held-out pairs to report
  uint64_t seed = 1;
};

struct DemoCorpus {
  std::string target_language;
  std::vector<SentencePair> train, valid, test;
};

/// Makes the corpus; the same options give the same corpus.
///
/// Three pairs in five are numbers up to 999,999, as many of three digits as of four, five and six;
/// the rest are days of the years 1900 to 2099. The numbers below 100 are always trained on: they
/// are the words, and the held-out pairs are new ways of putting them together. No sentence, of
/// either language, occurs twice in the corpus. Throws UsageError on an unknown language or a size
/// out of range.
DemoCorpus make_demo_corpus(const DemoCorpusOptions& options = {});

/// One tokenizer for both languages of the corpus. Its few pieces are words and parts of words, so
/// that each occurs in hundreds of pairs: "▁acht|hundertneun|undacht|zigtausendacht".
TokenizerOptions demo_tokenizer_options();

/// Writes train.en, train.de, valid.en, … into a folder, which is made when absent, and the gold
/// alignments of what is held out, valid.links and test.links; see demo_links().
void write_demo_corpus(const DemoCorpus& corpus, const std::filesystem::path& folder);

/// The files of one set ("train", "valid" or "test") as write_demo_corpus() names them.
CorpusSource demo_files(const std::filesystem::path& folder, const std::string& set,
                        const std::string& target_language);

}  // namespace filigree::text
