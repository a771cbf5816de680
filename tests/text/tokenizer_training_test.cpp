#include <gmock/gmock.h>

#include <string>

#include "filigree/text/tokenizer.h"
#include "tests/text/captured_log.h"
#include "tests/text/matchers.h"
#include "tests/text/small_text.h"

namespace filigree::text {
namespace {

using test::CapturedLog;
using test::small_text;

// Five hundred different sentences.
std::vector<std::string> many_lines() {
  std::vector<std::string> lines;
  for (int i = 0; i < 500; ++i) lines.push_back(small_text()[i % 10] + " " + std::to_string(i));
  return lines;
}

class TokenizerTraining : public testing::TestWithParam<std::string> {};

TEST_P(TokenizerTraining, GivesTheSameModelEveryTime) {
  const TokenizerOptions options{.vocab_size = 70, .model_type = GetParam()};
  const std::string first = train_tokenizer(many_lines(), options).bytes();
  EXPECT_EQ(train_tokenizer(many_lines(), options).bytes(), first);
}

TEST_P(TokenizerTraining, WritesNothingToStandardOutputOrError) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  train_tokenizer(many_lines(), {.vocab_size = 70, .model_type = GetParam()});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_P(TokenizerTraining, ASmallTextGivesFewerPiecesAndAWarning) {
  const CapturedLog log;
  const Tokenizer tokenizer =
      train_tokenizer(small_text(), {.vocab_size = 5000, .model_type = GetParam()});
  EXPECT_LT(tokenizer.size(), 300);
  EXPECT_EQ(log.text(), "warning: the text is too small for 5000 pieces; the tokenizer has " +
                            std::to_string(tokenizer.size()) + "\n");
  for (const std::string& line : small_text()) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(line)), line);
  }
}

TEST_P(TokenizerTraining, AVocabularyBelowTheCharactersIsAnError) {
  EXPECT_THROWS(train_tokenizer({"abcdefghij"}, {.vocab_size = 10, .model_type = GetParam()}),
                Error,
                "cannot train a tokenizer on this text: its characters and special pieces need 15 "
                "pieces, but the vocabulary size is 10; raise it or lower the character coverage");
}

INSTANTIATE_TEST_SUITE_P(ModelTypes, TokenizerTraining, testing::Values("bpe", "unigram"),
                         [](const auto& info) { return info.param; });

TEST(TokenizerSample, OfTooManyLinesARandomSampleIsUsed) {
  const TokenizerOptions few{.vocab_size = 60, .max_sentences = 50};
  const std::string sampled = train_tokenizer(many_lines(), few).bytes();
  EXPECT_EQ(train_tokenizer(many_lines(), few).bytes(), sampled);
  TokenizerOptions other = few;
  other.seed = 2;
  EXPECT_NE(train_tokenizer(many_lines(), other).bytes(), sampled);
}

TEST(TokenizerSample, BlankLinesDoNotCount) {
  std::vector<std::string> lines = {"", " ", "\t"};
  EXPECT_THROWS(train_tokenizer(lines, {}), Error,
                "cannot train a tokenizer: the text has no words");
  lines.insert(lines.end(), small_text().begin(), small_text().end());
  const TokenizerOptions options{.vocab_size = 80, .max_sentences = 10};
  EXPECT_EQ(train_tokenizer(lines, options).bytes(),
            train_tokenizer(small_text(), options).bytes());
}

TEST(TokenizerSample, VeryLongLinesAreUsed) {
  std::string line;
  for (int i = 0; i < 2000; ++i) line += small_text()[i % 10] + " ";
  EXPECT_EQ(train_tokenizer({line}, {.vocab_size = 60}).size(), 60);
}

TEST(TokenizerTrainingOptions, OutOfRangeAreUsageErrors) {
  EXPECT_THROWS(validate(TokenizerOptions{.vocab_size = 4}), UsageError,
                "the vocabulary size must be above 4, got 4");
  EXPECT_THROWS(validate({.vocab_size = 260, .byte_fallback = true}), UsageError,
                "the vocabulary size must be above 260, got 260");
  EXPECT_THROWS(validate({.model_type = "wordpiece"}), UsageError,
                "the tokenizer's model type must be bpe or unigram, got wordpiece");
  EXPECT_THROWS(validate({.character_coverage = 1.5}), UsageError,
                "the character coverage must be above 0.9 and at most 1, got 1.5");
  EXPECT_THROWS(
      validate({.normalization = "nfc"}), UsageError,
      "the normalization must be nmt_nfkc, nfkc, nmt_nfkc_cf, nfkc_cf or identity, got nfc");
  EXPECT_THROWS(validate({.max_sentences = 0}), UsageError,
                "the tokenizer needs at least 1 sentence to train on, got 0");
  EXPECT_THROWS(validate({.threads = -1}), UsageError, "threads must not be negative, got -1");
}

}  // namespace
}  // namespace filigree::text
