// Weights of one model as the start of another.
#include "filigree/model/carry_over.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <string>
#include <utility>

#include "filigree/base/error.h"
#include "tests/model/packing.h"

namespace filigree::model {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

text::Tokenizer tokenizer(const std::string& line, int size = 20) {
  text::TokenizerOptions options;
  options.vocab_size = size;
  return text::train_tokenizer(std::vector<std::string>(20, line), options);
}

// A field of a protocol buffer, of bytes.
std::string field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}

// A SentencePiece model from elsewhere: <unk> 0, <s> 1, </s> 2, no <pad>, which is then added at
// the end.
text::Tokenizer foreign_tokenizer() {
  constexpr char kNormal = 1, kUnknown = 2, kControl = 3;
  const std::pair<const char*, char> pieces[] = {
      {"<unk>", kUnknown}, {"<s>", kControl}, {"</s>", kControl}, {"▁", kNormal},
      {"a", kNormal},      {"b", kNormal},    {"c", kNormal}};
  std::string model;
  for (const auto& [text, type] : pieces) {
    const std::string score(4, '\0');
    model += field(1, field(1, text) + "\x15" + score + "\x18" + type);
  }
  return text::Tokenizer::from_bytes(model, "foreign");
}

Tokenizers both(const text::Tokenizer& tokenizer) { return {tokenizer, tokenizer}; }

ModelConfig config_for(const Tokenizers& tokenizers, Transform transform = Transform::kAdaptive) {
  ModelConfig config;
  config.encoder_layers = config.decoder_layers = 2;
  config.d_model = 8;
  config.d_ff = 12;
  config.heads = 2;
  config.shared_vocabulary = tokenizers.source.bytes() == tokenizers.target.bytes();
  config.source_vocabulary = tokenizers.source.size();
  config.target_vocabulary = tokenizers.target.size();
  for (const auto block : kAttentionBlocks) config.attention(block).transform = transform;
  return config;
}

Transformer initialised(const ModelConfig& config, uint64_t seed) {
  Transformer model(config);
  model.initialise(seed);
  return model;
}

int id_of(const text::Tokenizer& tokenizer, const std::string& piece) {
  for (int id = 0; id < tokenizer.size(); ++id) {
    if (tokenizer.piece(id) == piece) return id;
  }
  return -1;
}

bool same_row(const at::Tensor& a, int i, const at::Tensor& b, int j) {
  return torch::equal(a[i], b[j]);
}

TEST(CarryOver, AModelOfTheSameKindIsTakenWhole) {
  const Tokenizers tokenizers = both(tokenizer("a small model"));
  const Model old{initialised(config_for(tokenizers), 1), tokenizers};
  Transformer model = initialised(config_for(tokenizers), 2);
  const CarriedOver taken = carry_over(old, "old", model, tokenizers);
  EXPECT_TRUE(torch::equal(model.parameters().values(), old.transformer.parameters().values()));
  EXPECT_EQ(taken.parameters, model.parameters().count());
  EXPECT_EQ(taken.source_pieces, tokenizers.source.size());
  EXPECT_THAT(taken.notes, IsEmpty());
}

TEST(CarryOver, RowsFollowTheTextOfPiecesAndOthersStayFresh) {
  const Tokenizers before = both(tokenizer("abc abd bcd")), after = both(tokenizer("bcd bce xyz"));
  const Model old{initialised(config_for(before), 1), before};
  Transformer model = initialised(config_for(after), 2);
  const at::Tensor fresh = model.source_embedding().clone();
  const CarriedOver taken = carry_over(old, "old", model, after);
  int64_t equal = 0;
  for (int id = 0; id < after.source.size(); ++id) {
    const int there = id_of(before.source, after.source.piece(id));
    equal += there >= 0;
    EXPECT_TRUE(there >= 0 ? same_row(model.source_embedding(), id,
                                      old.transformer.source_embedding(), there)
                           : same_row(model.source_embedding(), id, fresh, id))
        << after.source.piece(id);
  }
  EXPECT_EQ(taken.source_pieces, equal);
  EXPECT_GT(equal, 5);
  EXPECT_LT(equal, after.source.size());
  EXPECT_EQ(taken.parameters,
            model.parameters().count() - (after.source.size() - equal) * model.config().d_model);
}

TEST(CarryOver, SpecialPiecesAreKnownByTheirRole) {
  const Tokenizers before = both(foreign_tokenizer()), after = both(tokenizer("abc"));
  ASSERT_NE(before.source.eos(), after.source.eos());
  ASSERT_NE(before.source.pad(), after.source.pad());
  const Model old{initialised(config_for(before), 1), before};
  Transformer model = initialised(config_for(after), 2);
  carry_over(old, "old", model, after);
  const at::Tensor &from = old.transformer.source_embedding(), &to = model.source_embedding();
  const text::Tokenizer &was = before.source, &is = after.source;
  EXPECT_TRUE(same_row(to, is.pad(), from, was.pad()));
  EXPECT_TRUE(same_row(to, is.unk(), from, was.unk()));
  EXPECT_TRUE(same_row(to, is.bos(), from, was.bos()));
  EXPECT_TRUE(same_row(to, is.eos(), from, was.eos()));
}

TEST(CarryOver, ASharedVocabularyIsTakenApartAndPutTogether) {
  const Tokenizers shared = both(tokenizer("abc abd bcd"));
  const Tokenizers apart{tokenizer("abc abe"), tokenizer("bcd bcf")};
  const Model one{initialised(config_for(shared), 1), shared};
  Transformer two = initialised(config_for(apart), 2);
  carry_over(one, "one", two, apart);
  const at::Tensor& embedding = one.transformer.source_embedding();
  EXPECT_TRUE(same_row(two.source_embedding(), id_of(apart.source, "a"), embedding,
                       id_of(shared.source, "a")));
  EXPECT_TRUE(same_row(two.target_embedding(), id_of(apart.target, "d"), embedding,
                       id_of(shared.source, "d")));

  const Model separate{initialised(config_for(apart), 3), apart};
  Transformer joined = initialised(config_for(shared), 4);
  const CarriedOver taken = carry_over(separate, "two", joined, shared);
  // b is in both, a in the source alone.
  EXPECT_TRUE(same_row(joined.source_embedding(), id_of(shared.source, "b"),
                       separate.transformer.target_embedding(), id_of(apart.target, "b")));
  EXPECT_TRUE(same_row(joined.source_embedding(), id_of(shared.source, "a"),
                       separate.transformer.source_embedding(), id_of(apart.source, "a")));
  EXPECT_THAT(taken.notes, Contains(HasSubstr("the target's, then the source's")));
}

TEST(CarryOver, AnOutputLayerComesFromWhateverWasTheOutput) {
  const Tokenizers tokenizers = both(tokenizer("a small model"));
  ModelConfig tied = config_for(tokenizers), untied = tied;
  untied.tied_embeddings = false;
  const Model old_tied{initialised(tied, 1), tokenizers};
  Transformer model = initialised(untied, 2);
  EXPECT_EQ(carry_over(old_tied, "old", model, tokenizers).parameters, model.parameters().count());
  EXPECT_TRUE(torch::equal(model.output_weight(), old_tied.transformer.target_embedding()));

  const Model old_untied{initialised(untied, 3), tokenizers};
  model = initialised(untied, 4);
  carry_over(old_untied, "old", model, tokenizers);
  EXPECT_TRUE(torch::equal(model.output_weight(), old_untied.transformer.output_weight()));
  model = initialised(tied, 5);
  const CarriedOver taken = carry_over(old_untied, "old", model, tokenizers);
  EXPECT_TRUE(torch::equal(model.output_weight(), old_untied.transformer.target_embedding()));
  EXPECT_THAT(taken.notes, Contains(HasSubstr("output layer is left out")));
}

// Of a whole model, on a few sentences.
at::Tensor hidden(const Transformer& model) {
  const torch::NoGradGuard no_grad;
  const Sequences source = sequences_of({3, 6}), target = sequences_of({4, 2});
  return model.decode(target, model.encode(source), source);
}

TEST(CarryOver, SoftmaxBecomesAdaptiveWithoutForgetting) {
  const Tokenizers tokenizers = both(tokenizer("a model of a few more pieces", 30));
  const Model old{initialised(config_for(tokenizers, Transform::kSoftmax), 1), tokenizers};
  Transformer model = initialised(config_for(tokenizers), 2);
  const CarriedOver taken = carry_over(old, "old", model, tokenizers);
  for (const auto block : kAttentionBlocks) {
    EXPECT_TRUE(torch::allclose(model.alpha(block, 1), torch::full({2}, 1.01), 0, 1e-6));
  }
  EXPECT_LT((hidden(model) - hidden(old.transformer)).abs().max().item<double>(), 0.02);
  EXPECT_THAT(taken.notes,
              Contains("encoder attention: softmax becomes adaptive, starting at α 1.01"));
  EXPECT_EQ(taken.parameters, old.transformer.parameters().count());
}

TEST(CarryOver, AFixedAlphaIsWhereALearnedOneStarts) {
  const Tokenizers tokenizers = both(tokenizer("a small model"));
  ModelConfig fixed = config_for(tokenizers, Transform::kEntmax);
  fixed.cross_attention.alpha = 1.3;
  fixed.decoder_attention.transform = Transform::kSparsemax;
  const Model old{initialised(fixed, 1), tokenizers};
  ModelConfig config = config_for(tokenizers);
  for (const auto block : kAttentionBlocks) config.attention(block).alpha_max = 1.8;
  Transformer model = initialised(config, 2);
  carry_over(old, "old", model, tokenizers);
  const auto first_alpha = [&](AttentionBlock block) {
    return model.alpha(block, 0)[0].item<double>();
  };
  EXPECT_NEAR(first_alpha(AttentionBlock::kEncoder), 1.5, 1e-6);
  EXPECT_NEAR(first_alpha(AttentionBlock::kCross), 1.3, 1e-6);
  EXPECT_NEAR(first_alpha(AttentionBlock::kDecoder), 1.792, 1e-6);
}

TEST(CarryOver, LearnedAlphasKeepTheirValuesInAnotherRange) {
  const Tokenizers tokenizers = both(tokenizer("a small model"));
  const Model old{initialised(config_for(tokenizers), 1), tokenizers};
  ModelConfig config = config_for(tokenizers);
  config.encoder_attention.alpha_max = 3;
  Transformer model = initialised(config, 2);
  const CarriedOver taken = carry_over(old, "old", model, tokenizers);
  EXPECT_TRUE(torch::allclose(model.alpha(AttentionBlock::kEncoder, 0),
                              old.transformer.alpha(AttentionBlock::kEncoder, 0).clamp(1.02), 0,
                              1e-5));
  EXPECT_EQ(taken.parameters, model.parameters().count());
  EXPECT_THAT(taken.notes, testing::ElementsAre(HasSubstr("range 1 to 3")));
}

TEST(CarryOver, LearnedAlphasAreLeftOutOfAFixedTransform) {
  const Tokenizers tokenizers = both(tokenizer("a small model"));
  const Model old{initialised(config_for(tokenizers), 1), tokenizers};
  Transformer model = initialised(config_for(tokenizers, Transform::kEntmax15), 2);
  const CarriedOver taken = carry_over(old, "old", model, tokenizers);
  EXPECT_EQ(taken.parameters, model.parameters().count());
  EXPECT_THAT(taken.notes, Contains("cross attention: adaptive becomes entmax15"));
}

TEST(CarryOver, LayersAreMatchedByTheirNumber) {
  const Tokenizers tokenizers = both(tokenizer("a small model"));
  const Model old{initialised(config_for(tokenizers), 1), tokenizers};
  ModelConfig config = config_for(tokenizers);
  config.encoder_layers = 3;
  config.decoder_layers = 1;
  Transformer model = initialised(config, 2);
  const Transformer fresh = initialised(config, 2);
  const CarriedOver taken = carry_over(old, "old", model, tokenizers);
  const std::string first = "encoder.layers.1.feed_forward.inner.weight",
                    last = "encoder.layers.2.feed_forward.inner.weight";
  EXPECT_TRUE(torch::equal(model.parameters()[first], old.transformer.parameters()[first]));
  EXPECT_TRUE(torch::equal(model.parameters()[last], fresh.parameters()[last]));
  EXPECT_THAT(taken.notes,
              AllOf(Contains(HasSubstr("encoder layers 3 to 3 are new")),
                    Contains(HasSubstr("decoder layers 2 to 2 of the model to start from"))));
}

TEST(CarryOver, OtherWidthsAreRefusedNamingBoth) {
  const Tokenizers tokenizers = both(tokenizer("a small model"));
  const Model old{initialised(config_for(tokenizers), 1), tokenizers};
  const auto failure = [&](void (*change)(ModelConfig&)) {
    ModelConfig config = config_for(tokenizers);
    change(config);
    Transformer model = initialised(config, 2);
    try {
      carry_over(old, "old", model, tokenizers);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(failure([](ModelConfig& c) { c.d_model = 16; }),
              HasSubstr("old: d_model is 8 there and 16 here"));
  EXPECT_THAT(failure([](ModelConfig& c) { c.d_ff = 16; }), HasSubstr("d_ff is 12 there"));
  EXPECT_THAT(failure([](ModelConfig& c) { c.heads = 4; }), HasSubstr("--heads 2"));
  EXPECT_THAT(failure([](ModelConfig& c) { c.pre_norm = false; }), HasSubstr("--post-norm"));
}

}  // namespace
}  // namespace filigree::model
