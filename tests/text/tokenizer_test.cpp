#include "filigree/text/tokenizer.h"

#include <gmock/gmock.h>
#include <sentencepiece_trainer.h>

#include <string>
#include <thread>
#include <unordered_map>

#include "filigree/base/files.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/captured_log.h"
#include "tests/text/matchers.h"
#include "tests/text/small_text.h"

namespace filigree::text {
namespace {

using test::CapturedLog;
using test::small_text;
using test::small_tokenizer;
using test::TemporaryFolder;
using testing::ElementsAre;

// A model by SentencePiece's own trainer, with other special ids than ours.
std::string foreign_model(const std::unordered_map<std::string, std::string>& arguments) {
  std::unordered_map<std::string, std::string> all = {
      {"vocab_size", "60"}, {"model_type", "bpe"}, {"minloglevel", "3"}};
  all.insert(arguments.begin(), arguments.end());
  const TemporaryFolder folder;
  std::string text;
  for (const std::string& line : small_text()) text += line + "\n";
  all["input"] = folder.write("text", text);
  std::string bytes;
  EXPECT_TRUE(sentencepiece::SentencePieceTrainer::Train(all, nullptr, &bytes).ok());
  return bytes;
}

TEST(Tokenizer, TextComesBack) {
  for (const std::string& line : small_text()) {
    EXPECT_EQ(small_tokenizer().decode(small_tokenizer().encode(line)), line);
  }
}

TEST(Tokenizer, EmptyAndBlankLinesHaveNoIds) {
  EXPECT_THAT(small_tokenizer().encode(""), ElementsAre());
  EXPECT_THAT(small_tokenizer().encode(" \t \xE3\x80\x80"), ElementsAre());
  EXPECT_EQ(small_tokenizer().decode({}), "");
}

TEST(Tokenizer, HasItsSpecialIdsFirst) {
  const Tokenizer& tokenizer = small_tokenizer();
  EXPECT_EQ(tokenizer.pad(), kPad);
  EXPECT_EQ(tokenizer.unk(), kUnk);
  EXPECT_EQ(tokenizer.bos(), kBos);
  EXPECT_EQ(tokenizer.eos(), kEos);
  EXPECT_EQ(tokenizer.piece(kPad), "<pad>");
  EXPECT_EQ(tokenizer.piece(kUnk), "<unk>");
  EXPECT_EQ(tokenizer.piece(kBos), "<s>");
  EXPECT_EQ(tokenizer.piece(kEos), "</s>");
}

TEST(Tokenizer, DecodeLeavesSpecialIdsOut) {
  const Tokenizer& tokenizer = small_tokenizer();
  std::vector<int> ids = tokenizer.encode("the cat");
  ids.insert(ids.begin(), {kPad, kBos});
  ids.insert(ids.end(), {kEos, kPad});
  EXPECT_EQ(tokenizer.decode(ids), "the cat");
}

TEST(Tokenizer, UnknownCharactersBecomeUnk) {
  const Tokenizer& tokenizer = small_tokenizer();
  const std::vector<int> ids = tokenizer.encode("the 猫");
  EXPECT_EQ(ids.back(), kUnk);
  EXPECT_EQ(tokenizer.decode(ids), "the  ⁇ ");
}

TEST(Tokenizer, ByteFallbackKeepsUnknownCharacters) {
  const Tokenizer tokenizer =
      train_tokenizer(small_text(), TokenizerOptions{.vocab_size = 320, .byte_fallback = true});
  const std::string line = "the 猫 sits on 😀";
  const std::vector<int> ids = tokenizer.encode(line);
  EXPECT_THAT(ids, testing::Not(testing::Contains(kUnk)));
  EXPECT_EQ(tokenizer.decode(ids), line);
}

TEST(Tokenizer, InvalidUtf8BecomesUnk) {
  EXPECT_THAT(small_tokenizer().encode("the \xFF"), testing::Contains(kUnk));
}

TEST(Tokenizer, IdsOutsideTheVocabularyAreErrors) {
  EXPECT_THROWS(small_tokenizer().piece(80), Error, "id 80 is outside the vocabulary of 80 pieces");
  EXPECT_THROWS(small_tokenizer().piece(-1), Error, "id -1 is outside the vocabulary of 80 pieces");
  EXPECT_THROWS(small_tokenizer().decode({5, 80}), Error,
                "id 80 is outside the vocabulary of 80 pieces");
}

TEST(Tokenizer, IsTheSameAfterWritingAndLoading) {
  const TemporaryFolder folder;
  write_file(folder / "shared.spm", small_tokenizer().bytes());
  const Tokenizer loaded = Tokenizer::load(folder / "shared.spm");
  EXPECT_EQ(loaded.bytes(), small_tokenizer().bytes());
  EXPECT_EQ(loaded.size(), 80);
  EXPECT_EQ(loaded.encode("the dog sees"), small_tokenizer().encode("the dog sees"));
}

TEST(Tokenizer, MissingFileIsAnError) {
  EXPECT_THROWS(Tokenizer::load("/no/such.spm"), Error,
                "/no/such.spm: cannot open: No such file or directory");
}

TEST(Tokenizer, DamagedFileIsAnError) {
  const TemporaryFolder folder;
  const std::string& whole = small_tokenizer().bytes();
  testing::internal::CaptureStderr();
  for (const std::string& bytes :
       {std::string(), std::string("not a model"), whole.substr(0, whole.size() / 2),
        whole.substr(0, whole.size() - 1)}) {
    const std::string path = folder.write("damaged.spm", bytes);
    EXPECT_THROWS(Tokenizer::load(path), Error,
                  path + ": is not a SentencePiece model, or it is damaged");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Tokenizer, AddsMissingSpecialPiecesAtTheEnd) {
  // SentencePiece's defaults: <unk>, <s>, </s> and no <pad>.
  const CapturedLog log;
  const Tokenizer tokenizer = Tokenizer::from_bytes(foreign_model({}), "default.model");
  EXPECT_EQ(tokenizer.size(), 61);
  EXPECT_EQ(tokenizer.unk(), 0);
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  EXPECT_EQ(tokenizer.pad(), 60);
  EXPECT_EQ(tokenizer.piece(60), "<pad>");
  EXPECT_EQ(log.text(), "info: default.model: added <pad> to the vocabulary\n");
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("the cat")), "the cat");
  EXPECT_EQ(tokenizer.decode({60, 60}), "");
}

TEST(Tokenizer, CompletesModelsInMarianStyle) {
  const CapturedLog log;
  const Tokenizer tokenizer = Tokenizer::from_bytes(
      foreign_model({{"bos_id", "-1"}, {"eos_id", "0"}, {"unk_id", "1"}}), "vocab.spm");
  EXPECT_EQ(tokenizer.eos(), 0);
  EXPECT_EQ(tokenizer.unk(), 1);
  EXPECT_EQ(tokenizer.pad(), 60);
  EXPECT_EQ(tokenizer.bos(), 61);
  EXPECT_EQ(log.text(), "info: vocab.spm: added <pad>, <s> to the vocabulary\n");
  // Text that looks like a special piece is text.
  EXPECT_THAT(tokenizer.encode("<s>"), testing::Not(testing::Contains(61)));
}

TEST(Tokenizer, ACompletedModelLoadsAsItIs) {
  const CapturedLog quiet;
  const Tokenizer completed = Tokenizer::from_bytes(foreign_model({}), "default.model");
  const CapturedLog log;
  const Tokenizer again = Tokenizer::from_bytes(completed.bytes(), "again");
  EXPECT_EQ(again.bytes(), completed.bytes());
  EXPECT_EQ(again.pad(), 60);
  EXPECT_EQ(log.text(), "");
}

TEST(Tokenizer, ASpecialPieceThatIsTextOrHasAnotherNameIsAnError) {
  EXPECT_THROWS(Tokenizer::from_bytes(foreign_model({{"user_defined_symbols", "<pad>"}}), "odd"),
                Error,
                "odd: has no <pad>, <s> or </s> of its own and cannot be given one; train it with "
                "these as control symbols (spm_train --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3)");
  EXPECT_THROW(Tokenizer::from_bytes(foreign_model({{"pad_piece", "[PAD]"}}), "odd"), Error);
}

TEST(Tokenizer, ServesSeveralThreads) {
  const std::vector<int> expected = small_tokenizer().encode(small_text()[0]);
  const Tokenizer copy = small_tokenizer();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        EXPECT_EQ(copy.encode(small_text()[0]), expected);
        EXPECT_EQ(copy.decode(expected), small_text()[0]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace filigree::text
