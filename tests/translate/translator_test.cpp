#include "filigree/translate/translator.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <sstream>

#include "filigree/base/error.h"
#include "filigree/base/files.h"
#include "filigree/base/threads.h"
#include "filigree/translate/stream.h"
#include "tests/translate/test_model.h"

namespace filigree::translate {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;
using Lines = std::vector<std::string>;

class TranslatorTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = std::filesystem::path(testing::TempDir()) / "filigree_translator_test_model";
    write_model(directory_);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(directory_); }

  static Lines texts(const Translator& translator, const Lines& lines) {
    Lines result;
    for (const Translation& translation : translator.translate(lines)) {
      result.push_back(translation.text());
    }
    return result;
  }

  static Lines some_lines() {
    const Lines words = {"quick", "fox", "the", "jumps", "box", "dozen", "lazy", "my"};
    Lines lines;
    for (size_t i = 0; i < 40; ++i) {
      std::string line;
      for (size_t w = 0; w < i % 7; ++w) line += words[(i * 5 + w * w) % words.size()] + " ";
      lines.push_back(line);
    }
    return lines;
  }

  static std::filesystem::path directory_;
};
std::filesystem::path TranslatorTest::directory_;

TEST_F(TranslatorTest, BatchesThreadsAndOrderNeverChangeATranslation) {
  const Lines lines = some_lines();
  TranslatorOptions one_by_one;
  one_by_one.batches.mini_batch = 1;
  const Lines expected = texts(Translator(directory_, one_by_one), lines);
  for (const int mini_batch : {3, 64}) {
    for (const int threads : {1, 2}) {
      TranslatorOptions options;
      options.batches.mini_batch = mini_batch;
      options.batches.threads = threads;
      EXPECT_EQ(texts(Translator(directory_, options), lines), expected);
    }
  }
  Lines backwards(lines.rbegin(), lines.rend());
  Lines translated = texts(Translator(directory_), backwards);
  std::reverse(translated.begin(), translated.end());
  EXPECT_EQ(translated, expected);
}

TEST_F(TranslatorTest, MayBeCalledFromSeveralThreads) {
  const Translator translator(directory_);
  const Lines lines = some_lines(), expected = texts(translator, lines);
  std::vector<Lines> found(3);
  run_parallel(3, [&](int i) { found[i] = texts(translator, lines); });
  EXPECT_THAT(found, testing::Each(expected));
}

TEST_F(TranslatorTest, EmptyAndBlankLinesAndLeadingBlanksStay) {
  const Translator translator(directory_);
  const std::string fox = texts(translator, {"fox"}).at(0);
  EXPECT_THAT(texts(translator, {"", "\u3000 fox", " \t "}),
              testing::ElementsAre("", "\u3000 " + fox, " \t "));
  EXPECT_THAT(translator.translate({}), testing::IsEmpty());
}

TEST_F(TranslatorTest, NBestListIsOrderedAndItsFirstIsTheTranslation) {
  TranslatorOptions options;
  options.search = SearchOptions{};
  options.search->n_best = 5;
  const Lines lines = {"quick fox"};
  const Translation list = Translator(directory_, options).translate(lines).at(0);
  ASSERT_THAT(list.n_best, SizeIs(5));
  for (size_t n = 1; n < 5; ++n) EXPECT_GE(list.n_best[n - 1].score, list.n_best[n].score);
  EXPECT_EQ(list.text(), texts(Translator(directory_), lines).at(0));
  const Output& best = list.n_best[0];
  EXPECT_THAT(best.token_log_probabilities, SizeIs(best.pieces.size() + 1));
}

TEST_F(TranslatorTest, LongLinesAreSplitAndJoined) {
  const Lines sentences = {"the quick brown fox.", "The lazy dog jumps."};
  const text::Tokenizer tokenizer = small_tokenizer();
  TranslatorOptions options;
  options.max_source_length = static_cast<int>(
      std::max(tokenizer.encode(sentences[0]).size(), tokenizer.encode(sentences[1]).size()));
  const Translator translator(directory_, options);
  const Lines parts = texts(translator, sentences);
  const Lines lines = {sentences[0] + " " + sentences[1]};
  const Output whole = translator.translate(lines).at(0).n_best.at(0);
  EXPECT_EQ(whole.text, parts[0] + " " + parts[1]);
  EXPECT_THAT(whole.token_log_probabilities, SizeIs(whole.pieces.size() + 2));
}

TEST_F(TranslatorTest, LongLinesAreRefusedOnRequest) {
  TranslatorOptions options;
  options.max_source_length = 5;
  options.split_long_lines = false;
  const Translator translator(directory_, options);
  const Lines lines = {"fox", "the quick brown fox jumps over the lazy dog"};
  EXPECT_THAT([&] { translator.translate(lines); },
              ThrowsMessage<Error>(HasSubstr("input:2: has")));
}

TEST_F(TranslatorTest, BadBytesAreErrorsWithTheLine) {
  const Translator translator(directory_);
  const Lines lines = {"fox", "fo\xff"};
  EXPECT_THAT(
      [&] {
        translator.translate(lines, {"a.txt", 11});
      },
      ThrowsMessage<Error>(HasSubstr("a.txt:12: byte 3 is not valid UTF-8")));
  const Lines nul = {std::string("a\0b", 3)};
  EXPECT_THAT([&] { translator.translate(nul); }, ThrowsMessage<Error>(HasSubstr("input:1:")));
}

TEST_F(TranslatorTest, BadBytesAreReplacedOnRequest) {
  TranslatorOptions options;
  options.replace_invalid = true;
  const Translator translator(directory_, options);
  EXPECT_EQ(texts(translator, {"fo\xff"}), texts(translator, {"fo\uFFFD"}));
}

TEST_F(TranslatorTest, ConstraintsHoldForTheirLine) {
  TranslatorOptions options;
  options.search = SearchOptions{};
  options.search->beam_size = 12;
  const Translator translator(directory_, options);
  const Lines lines = {"quick fox", "lazy dog"};
  const Lines plain = texts(translator, lines);
  const LineConstraints constraints[] = {{"my box ", {}}, {"", {"five dozen", "jugs"}}};
  const auto found = translator.translate(lines, {}, constraints);
  EXPECT_THAT(found[0].text(), testing::StartsWith("my box"));
  EXPECT_THAT(found[1].text(), testing::AllOf(HasSubstr("five dozen"), HasSubstr("jugs")));
  const LineConstraints none[] = {{}, {}};
  const auto without = translator.translate(lines, {}, none);
  EXPECT_EQ(without[0].text(), plain[0]);
  EXPECT_EQ(without[1].text(), plain[1]);
}

TEST_F(TranslatorTest, BannedPhrasesAreInNoTranslation) {
  const Lines lines = some_lines();
  const std::string first = texts(Translator(directory_), lines).at(1);
  const std::string word = first.substr(0, first.find(' '));
  ASSERT_NE(word, "");
  TranslatorOptions options;
  options.banned_phrases = {word};
  for (const std::string& text : texts(Translator(directory_, options), lines)) {
    EXPECT_THAT(" " + text, testing::Not(HasSubstr(" " + word)));
  }
}

TEST_F(TranslatorTest, LinesThatAreSplitMayNotHaveRequiredPhrases) {
  TranslatorOptions options;
  options.max_source_length = 5;
  const Translator translator(directory_, options);
  const Lines lines = {"the quick brown fox jumps over the lazy dog"};
  const LineConstraints constraints[] = {{"", {"fox"}}};
  EXPECT_THAT([&] { translator.translate(lines, {}, constraints); },
              ThrowsMessage<Error>(HasSubstr("required phrases")));
}

TEST_F(TranslatorTest, SamplesDependOnTheNumberOfTheLine) {
  TranslatorOptions options;
  options.search = SearchOptions{};
  options.search->sampling = true;
  const Translator translator(directory_, options);
  const Lines lines(6, "quick fox");
  const auto all = translator.translate(lines, {"input", 5});
  const auto one = translator.translate(std::span(lines).subspan(3, 1), {"input", 8});
  EXPECT_EQ(one[0].text(), all[3].text());
  EXPECT_NE(all[0].text(), all[1].text());
}

TEST_F(TranslatorTest, EnsemblesNeedOneVocabulary) {
  const auto other = directory_.string() + "_other";
  write_model(other, small_tokenizer({"other words than those.", "and others!"}));
  EXPECT_THAT(
      [&] {
        Translator({directory_, other});
      },
      ThrowsMessage<Error>(testing::AllOf(HasSubstr("_other: its tokenizers differ"),
                                          HasSubstr(directory_.string()))));
  std::filesystem::remove_all(other);
}

TEST_F(TranslatorTest, GenerationConfigGivesTheDefaults) {
  const auto file = directory_ / "generation_config.json";
  write_file(file, R"({"beam_size": 2, "n_best": 2})");
  EXPECT_EQ(Translator(directory_).search_options().beam_size, 2);
  TranslatorOptions options;
  options.search = SearchOptions{};
  EXPECT_EQ(Translator(directory_, options).search_options().beam_size, 5);
  std::filesystem::remove(file);
}

TEST_F(TranslatorTest, WrongOptionsAndDirectoriesAreRefused) {
  TranslatorOptions options;
  options.batches.threads = 0;
  EXPECT_THROW(Translator(directory_, options), UsageError);
  options = {};
  options.batches.mini_batch_words = 0;
  EXPECT_THROW(Translator(directory_, options), UsageError);
  EXPECT_THROW(Translator(directory_ / "nowhere"), Error);
}

TEST_F(TranslatorTest, StreamKeepsOrderOnAnyNumberOfThreads) {
  const Lines lines = some_lines();
  std::string text, expected;
  for (const std::string& line : lines) text += line + "\n";
  for (const std::string& line : texts(Translator(directory_), lines)) expected += line + "\n";
  for (const int threads : {1, 2, 3}) {
    for (const int mini_batch : {1, 5}) {
      TranslatorOptions options;
      options.batches.threads = threads;
      options.batches.mini_batch = mini_batch;
      std::istringstream in(text);
      std::ostringstream out;
      EXPECT_EQ(translate_stream(Translator(directory_, options), in, out), 40);
      EXPECT_EQ(out.str(), expected);
    }
  }
}

/// Lines that are only there when those before them have been translated.
class Conversation {
 public:
  explicit Conversation(int64_t ahead) : ahead_(ahead) {}

  std::optional<SourceLine> next(int64_t lines) {
    if (asked_ == lines) return std::nullopt;
    std::unique_lock lock(mutex_);
    const auto answered = [this] { return delivered_ + ahead_ > asked_; };
    if (!changed_.wait_for(lock, std::chrono::minutes(1), answered)) return std::nullopt;
    ++asked_;
    return SourceLine{"the lazy dog", {}};
  }
  void deliver() {
    {
      const std::lock_guard lock(mutex_);
      ++delivered_;
    }
    changed_.notify_one();
  }
  int64_t delivered() const { return delivered_; }

 private:
  const int64_t ahead_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t asked_ = 0, delivered_ = 0;
};

TEST_F(TranslatorTest, EveryLineIsAnsweredBeforeTheNextIsThere) {
  TranslatorOptions options;
  options.batches.threads = 2;
  const Translator translator(directory_, options);
  for (const int64_t ahead : {1, 3}) {
    Conversation conversation(ahead);
    translator.translate_each([&] { return conversation.next(10); },
                              [&](const Translation&) { conversation.deliver(); });
    EXPECT_EQ(conversation.delivered(), 10);
  }
}

TEST_F(TranslatorTest, StreamReadsNoFurtherAheadThanItsWindow) {
  TranslatorOptions options;
  options.batches.mini_batch = 2;
  const Translator translator(directory_, options);
  std::atomic<int64_t> read = 0, delivered = 0;
  int64_t most = 0;
  translator.translate_each(
      [&]() -> std::optional<SourceLine> {
        most = std::max(most, read - delivered);
        if (++read > 200) return std::nullopt;
        return SourceLine{"fox", {}};
      },
      [&](const Translation&) { ++delivered; });
  EXPECT_EQ(delivered, 200);
  EXPECT_LE(most, 8 * 2 + 1);
}

TEST_F(TranslatorTest, StreamEndsWhenItsOutputFails) {
  TranslatorOptions options;
  options.batches.threads = 2;
  const Translator translator(directory_, options);
  int64_t read = 0, delivered = 0;
  EXPECT_THROW(translator.translate_each(
                   [&]() -> std::optional<SourceLine> {
                     if (++read > 100000) return std::nullopt;
                     return SourceLine{"fox", {}};
                   },
                   [&](const Translation&) {
                     if (++delivered == 7) throw Error("no room");
                   }),
               Error);
  EXPECT_EQ(delivered, 7);
  EXPECT_LT(read, 100000);
}

TEST_F(TranslatorTest, StreamReadsDosTextAndALastLineWithoutEnd) {
  const Translator translator(directory_);
  std::istringstream dos(
      "\xEF\xBB\xBF"
      "fox\r\n\r\nmy box"),
      unix_text("fox\n\nmy box\n");
  std::ostringstream from_dos, from_unix;
  EXPECT_EQ(translate_stream(translator, dos, from_dos), 3);
  translate_stream(translator, unix_text, from_unix);
  EXPECT_EQ(from_dos.str(), from_unix.str());
}

TEST_F(TranslatorTest, StreamWritesWhatComesBeforeABadLine) {
  const Translator translator(directory_);
  std::istringstream in("fox\nfox\nfox\n\xff\n");
  std::ostringstream out;
  EXPECT_THAT([&] { translate_stream(translator, in, out); },
              ThrowsMessage<Error>(HasSubstr("standard input:4:")));
  const std::string written = out.str();
  EXPECT_EQ(std::count(written.begin(), written.end(), '\n'), 3);
}

TEST_F(TranslatorTest, StreamReportsAFailingOutput) {
  const Translator translator(directory_);
  std::istringstream in("fox\n");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_THROW(translate_stream(translator, in, out), Error);
}

}  // namespace
}  // namespace filigree::translate
