#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>

#include "filigree/base/error.h"
#include "filigree/translate/generation_config.h"
#include "filigree/translate/split_line.h"

namespace filigree::translate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

int words(std::string_view text) {
  return static_cast<int>(std::count(text.begin(), text.end(), ' ')) + 1;
}
int bytes(std::string_view text) { return static_cast<int>(text.size()); }

TEST(SplitLine, ShortLinesStayWhole) {
  EXPECT_THAT(split_line(" a b ", 5, words), ElementsAre(" a b "));
}

TEST(SplitLine, CutsAtTheSentenceEndNearestTheMiddle) {
  EXPECT_THAT(split_line("One. Two and three. Four five six. Seven.", 6, words),
              ElementsAre("One. Two and three.", "Four five six. Seven."));
}

TEST(SplitLine, CutsAtSpacesWhenThereIsOneSentence) {
  EXPECT_THAT(split_line("a b c d e f g h", 4, words), ElementsAre("a b c d", "e f g h"));
}

TEST(SplitLine, CutsJapaneseWhichHasNoSpaces) {
  EXPECT_THAT(split_line("今日は晴れです。明日は雨です。", 30, bytes),
              ElementsAre("今日は晴れです。", "明日は雨です。"));
}

TEST(SplitLine, CutsInsideAWordAtLast) {
  const std::string word(100, 'x');
  const auto parts = split_line(word, 30, bytes);
  EXPECT_THAT(parts, testing::SizeIs(4));
  EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::string()), word);
}

TEST(SplitLine, NeverCutsACharacter) {
  EXPECT_THAT(split_line("ééé", 1, bytes), ElementsAre("é", "é", "é"));
}

TEST(JoinParts, PutsSpacesWhereTheLanguageDoes) {
  EXPECT_EQ(join_parts({"One.", "", "Two."}), "One. Two.");
  EXPECT_EQ(join_parts({"晴れです。", "雨です。"}), "晴れです。雨です。");
  EXPECT_EQ(join_parts({"안녕.", "반가워."}), "안녕. 반가워.");
  EXPECT_EQ(join_parts({}), "");
}

TEST(GenerationConfig, WhatIsWrittenIsRead) {
  GenerationConfig config;
  config.search.beam_size = 7;
  config.search.n_best = 2;
  config.search.length_penalty = 0.6;
  config.search.max_length_factor = 1.25;
  config.search.max_length_offset = 3;
  config.search.min_length = 1;
  config.search.min_length_factor = 0.25;
  config.search.word_penalty = -0.1;
  config.search.repetition_penalty = 1.2;
  config.search.coverage_penalty = 0.2;
  config.search.no_repeat_ngram_size = 4;
  config.search.allow_unk = true;
  config.search.sampling = true;
  config.search.token_sampling = {.temperature = 0.7, .top_k = 9, .top_p = 0.95};
  config.max_source_length = 99;
  const GenerationConfig read = generation_config_from_json(to_json(config), "g.json");
  EXPECT_EQ(to_json(read), to_json(config));
  EXPECT_EQ(read.search.length_penalty, 0.6);
  EXPECT_TRUE(read.search.allow_unk);
  EXPECT_EQ(read.search.word_penalty, -0.1);
  EXPECT_EQ(read.search.repetition_penalty, 1.2);
  EXPECT_EQ(read.search.coverage_penalty, 0.2);
  EXPECT_EQ(read.search.min_length_factor, 0.25);
  EXPECT_EQ(read.search.no_repeat_ngram_size, 4);
  EXPECT_TRUE(read.search.sampling);
  EXPECT_EQ(read.search.token_sampling.temperature, 0.7);
  EXPECT_EQ(read.search.token_sampling.top_k, 9);
  EXPECT_EQ(read.search.token_sampling.top_p, 0.95);
}

TEST(GenerationConfig, AbsentKeysKeepTheirDefaults) {
  const GenerationConfig config = generation_config_from_json(R"({"beam_size": 3})", "g.json");
  EXPECT_EQ(config.search.beam_size, 3);
  EXPECT_EQ(config.search.length_penalty, 1.0);
  EXPECT_EQ(config.max_source_length, 512);
}

TEST(GenerationConfig, ErrorsNameTheFileAndTheKey) {
  const auto reading = [](const char* text) {
    return [text] { generation_config_from_json(text, "g.json"); };
  };
  EXPECT_THAT(reading(R"({"beams": 3})"),
              ThrowsMessage<Error>(HasSubstr("g.json: unknown key \"beams\"")));
  EXPECT_THAT(reading(R"({"beam_size": "3"})"),
              ThrowsMessage<Error>(HasSubstr("g.json: \"beam_size\"")));
  EXPECT_THAT(reading(R"({"beam_size": 3.5})"), ThrowsMessage<Error>(HasSubstr("\"beam_size\"")));
  EXPECT_THAT(reading(R"({"beam_size": 1e30})"), ThrowsMessage<Error>(HasSubstr("\"beam_size\"")));
  EXPECT_THAT(reading(R"({"allow_unk": 1})"), ThrowsMessage<Error>(HasSubstr("\"allow_unk\"")));
  EXPECT_THAT(reading(R"({"beam_size": 0})"), ThrowsMessage<Error>(HasSubstr("g.json: beam-size")));
  EXPECT_THAT(reading(R"({"top_p": 2})"), ThrowsMessage<Error>(HasSubstr("g.json: top-p")));
  EXPECT_THAT(reading(R"({"repetition_penalty": 0.9})"),
              ThrowsMessage<Error>(HasSubstr("g.json: repetition-penalty 0.9")));
  EXPECT_THAT(reading(R"({"coverage_penalty": -1})"),
              ThrowsMessage<Error>(HasSubstr("g.json: coverage-penalty")));
  EXPECT_THAT(reading(R"({"max_source_length": 0})"),
              ThrowsMessage<Error>(HasSubstr("max_source_length")));
  EXPECT_THAT(reading("[1]"), ThrowsMessage<Error>(HasSubstr("g.json: expected a JSON object")));
  EXPECT_THAT(reading("{"), ThrowsMessage<Error>(HasSubstr("g.json: not JSON")));
}

}  // namespace
}  // namespace filigree::translate
