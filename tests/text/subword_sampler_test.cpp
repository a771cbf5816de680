#include "filigree/text/subword_sampler.h"

#include <gmock/gmock.h>
#include <sentencepiece_processor.h>

#include <cmath>
#include <map>
#include <set>

#include "filigree/text/subword_pieces.h"
#include "tests/text/matchers.h"
#include "tests/text/small_text.h"

namespace filigree::text {
namespace {

using test::small_text;
using Segmentation = std::vector<int>;

Tokenizer tokenizer_of(const std::string& type, bool byte_fallback = false) {
  return train_tokenizer(
      small_text(),
      {.vocab_size = byte_fallback ? 340 : 80, .model_type = type, .byte_fallback = byte_fallback});
}

Segmentation sample(const SubwordSampler& sampler, const Segmentation& ids, uint64_t key) {
  const std::vector<int32_t> sampled =
      sampler.sample(std::vector<int32_t>(ids.begin(), ids.end()), key);
  return {sampled.begin(), sampled.end()};
}

class SubwordSamplerOf : public testing::TestWithParam<std::string> {};

TEST_P(SubwordSamplerOf, TextStaysAsItIs) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const SubwordSampler sampler(tokenizer, 0.3);
  for (const std::string& line : small_text()) {
    for (uint64_t key = 0; key < 50; ++key) {
      EXPECT_EQ(tokenizer.decode(sample(sampler, tokenizer.encode(line), key)), line);
    }
  }
}

TEST_P(SubwordSamplerOf, ASampleIsAFunctionOfItsKey) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  const SubwordSampler sampler(tokenizer, 0.3), again(tokenizer, 0.3);
  const Segmentation ids = tokenizer.encode(small_text()[2]);
  std::set<Segmentation> seen;
  for (uint64_t key = 0; key < 50; ++key) {
    EXPECT_EQ(sample(sampler, ids, key), sample(again, ids, key));
    seen.insert(sample(sampler, ids, key));
  }
  EXPECT_GT(seen.size(), 20u);
}

// SentencePiece's own sampling as the truth: the same segmentations, as often.
TEST_P(SubwordSamplerOf, FrequenciesAreThoseOfSentencePiece) {
  const Tokenizer tokenizer = tokenizer_of(GetParam());
  sentencepiece::SentencePieceProcessor reference;
  ASSERT_TRUE(reference.LoadFromSerializedProto(tokenizer.bytes()).ok());
  constexpr double kAlpha = 0.4;
  constexpr int kSamples = 40'000;
  const SubwordSampler sampler(tokenizer, kAlpha);
  const std::string word = "the cat sits";
  std::map<Segmentation, int> ours, theirs;
  for (int i = 0; i < kSamples; ++i) {
    ++ours[sample(sampler, tokenizer.encode(word), static_cast<uint64_t>(i))];
    Segmentation ids;
    ASSERT_TRUE(reference.SampleEncode(word, -1, kAlpha, &ids).ok());
    ++theirs[ids];
  }
  EXPECT_GT(ours.size(), 5u);
  std::map<Segmentation, int> all = ours;
  all.insert(theirs.begin(), theirs.end());
  for (const auto& [segmentation, ignored] : all) {
    // Five standard deviations of a difference between two counts.
    EXPECT_NEAR(ours[segmentation], theirs[segmentation],
                5 * std::sqrt(ours[segmentation] + theirs[segmentation]) + 1);
  }
}

TEST_P(SubwordSamplerOf, UnknownPiecesAndBytesStay) {
  const Tokenizer plain = tokenizer_of(GetParam()), bytes = tokenizer_of(GetParam(), true);
  for (const Tokenizer* tokenizer : {&plain, &bytes}) {
    const SubwordSampler sampler(*tokenizer, 0.3);
    const Segmentation ids = tokenizer->encode("the 猫 cat 犬");
    for (uint64_t key = 0; key < 20; ++key) {
      EXPECT_EQ(tokenizer->decode(sample(sampler, ids, key)), tokenizer->decode(ids));
    }
  }
  EXPECT_EQ(sample(SubwordSampler(plain, 0.3), {}, 1), Segmentation{});
}

INSTANTIATE_TEST_SUITE_P(Algorithms, SubwordSamplerOf, testing::Values("bpe", "unigram"),
                         [](const auto& info) { return info.param; });

TEST(SubwordSampler, BpeWithoutDropoutIsTheTokenizerAndWithAllOfItCharacters) {
  const Tokenizer tokenizer = tokenizer_of("bpe");
  for (const std::string& line : small_text()) {
    const Segmentation ids = tokenizer.encode(line);
    EXPECT_EQ(sample(SubwordSampler(tokenizer, 0), ids, 1), ids);
    for (const int id : sample(SubwordSampler(tokenizer, 1), ids, 1)) {
      const std::string piece = tokenizer.piece(id);
      EXPECT_TRUE(piece.size() == 1 || piece == "▁") << piece;
    }
  }
}

TEST(SubwordSampler, UnigramWithAHighAlphaIsTheTokenizer) {
  const Tokenizer tokenizer = tokenizer_of("unigram");
  for (const std::string& line : small_text()) {
    const Segmentation ids = tokenizer.encode(line);
    EXPECT_EQ(sample(SubwordSampler(tokenizer, 1000), ids, 1), ids);
  }
}

TEST(SubwordSampler, AlphaOutOfRangeIsAUsageError) {
  EXPECT_THROWS(SubwordSampler(tokenizer_of("bpe"), 1.5), UsageError,
                "alpha of a BPE vocabulary must be between 0 and 1, got 1.5");
  EXPECT_THROWS(SubwordSampler(tokenizer_of("unigram"), 0), UsageError,
                "alpha of a unigram vocabulary must be above 0, got 0");
}

TEST(SubwordPieces, AreThoseOfSentencePiece) {
  for (const bool byte_fallback : {false, true}) {
    const Tokenizer tokenizer = tokenizer_of("unigram", byte_fallback);
    sentencepiece::SentencePieceProcessor reference;
    ASSERT_TRUE(reference.LoadFromSerializedProto(tokenizer.bytes()).ok());
    const SubwordPieces model = parse_subword_model(tokenizer.bytes());
    EXPECT_EQ(model.algorithm, SubwordPieces::Algorithm::kUnigram);
    ASSERT_EQ(static_cast<int>(model.pieces.size()), reference.GetPieceSize());
    for (int id = 0; id < reference.GetPieceSize(); ++id) {
      const SubwordPieces::Piece& piece = model.pieces[static_cast<size_t>(id)];
      EXPECT_EQ(piece.text, reference.IdToPiece(id));
      EXPECT_EQ(piece.score, reference.GetScore(id));
      EXPECT_EQ(piece.kind == SubwordPieces::Kind::kUnknown, reference.IsUnknown(id));
      EXPECT_EQ(piece.kind == SubwordPieces::Kind::kControl, reference.IsControl(id));
      EXPECT_EQ(piece.kind == SubwordPieces::Kind::kByte, reference.IsByte(id));
    }
  }
  EXPECT_EQ(parse_subword_model(tokenizer_of("bpe").bytes()).algorithm,
            SubwordPieces::Algorithm::kBpe);
}

TEST(SubwordPieces, DamageIsAnError) {
  const std::string bytes = tokenizer_of("bpe").bytes();
  EXPECT_THROW(parse_subword_model(bytes.substr(0, bytes.size() - 1)), Error);
  EXPECT_THROW(parse_subword_model(std::string(20, '\xff')), Error);
}

}  // namespace
}  // namespace filigree::text
