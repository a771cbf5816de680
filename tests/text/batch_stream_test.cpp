#include "filigree/text/batch_stream.h"

#include <gmock/gmock.h>

#include "filigree/base/random.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/matchers.h"
#include "tests/text/small_text.h"

namespace filigree::text {
namespace {

using test::small_text;
using test::small_tokenizer;
using test::TemporaryFolder;

using Sentence = std::vector<int32_t>;

Sentence ids(std::span<const int32_t> span) { return {span.begin(), span.end()}; }

class BatchStreamTest : public testing::Test {
 protected:
  // Two corpora of 300 and 100 pairs. Every source is one of a kind: it ends with its number.
  BatchStreamTest() {
    PairStoreWriter writer(path(), 1 << 16);
    Random random(4);
    for (int i = 0; i < 400; ++i) {
      Sentence source = small_tokenizer_ids(random.below(10));
      source.push_back(1000 + i);
      sources_.push_back(source);
      writer.add(source, small_tokenizer_ids(random.below(10)));
    }
    const SourceReport reports[] = {{.kept = 300}, {.kept = 100}};
    writer.commit(reports);
  }
  static Sentence small_tokenizer_ids(uint64_t line) {
    return small_tokenizer().encode(small_text()[line]);
  }
  std::string path() const { return folder_ / "corpus.pairs"; }
  std::unique_ptr<BatchStream> stream(std::vector<double> weights = {1, 1}, uint64_t seed = 1,
                                      int64_t batch_tokens = 200) const {
    return std::make_unique<BatchStream>(PairStore(path()), weights,
                                         BatchOptions{.batch_tokens = batch_tokens, .seed = seed});
  }
  /// All sources of an epoch, batch by batch.
  static std::vector<std::vector<Sentence>> epoch_of(BatchStream& stream, int64_t epoch) {
    std::vector<std::vector<Sentence>> batches;
    for (int64_t n = 0; n < stream.size(epoch); ++n) {
      const ParallelCorpus batch = stream.batch(epoch, n);
      batches.emplace_back();
      for (int64_t i = 0; i < batch.size(); ++i) batches.back().push_back(ids(batch.source(i)));
    }
    return batches;
  }

  TemporaryFolder folder_;
  std::vector<Sentence> sources_;
};

TEST_F(BatchStreamTest, AnEpochHasEveryPairOnce) {
  std::vector<Sentence> seen;
  for (const auto& batch : epoch_of(*stream(), 2)) {
    seen.insert(seen.end(), batch.begin(), batch.end());
  }
  EXPECT_THAT(seen, testing::UnorderedElementsAreArray(sources_));
}

TEST_F(BatchStreamTest, AnyOrderOfQuestionsGivesTheSameBatches) {
  const auto in_order = stream();
  std::vector<std::vector<std::vector<Sentence>>> epochs;
  for (int64_t epoch = 0; epoch < 3; ++epoch) epochs.push_back(epoch_of(*in_order, epoch));
  EXPECT_NE(epochs[0], epochs[1]);
  const auto jumping = stream();
  Random random(2);
  for (int i = 0; i < 40; ++i) {
    const auto epoch = static_cast<int64_t>(random.below(3));
    const auto number =
        static_cast<int64_t>(random.below(static_cast<uint64_t>(jumping->size(epoch))));
    const ParallelCorpus batch = jumping->batch(epoch, number);
    const auto& expected = epochs[static_cast<size_t>(epoch)][static_cast<size_t>(number)];
    ASSERT_EQ(batch.size(), static_cast<int64_t>(expected.size()));
    for (int64_t p = 0; p < batch.size(); ++p) {
      ASSERT_EQ(ids(batch.source(p)), expected[static_cast<size_t>(p)]);
    }
  }
}

TEST_F(BatchStreamTest, WeightsAreThoseOfTheCorpora) {
  std::map<bool, int> seen;
  for (const auto& batch : epoch_of(*stream({1, 3}), 0)) {
    for (const Sentence& source : batch) ++seen[source.back() >= 1300];
  }
  EXPECT_EQ(seen[false], 300);
  EXPECT_EQ(seen[true], 300);
}

TEST_F(BatchStreamTest, TheFingerprintIsOfAllThatAPlaceDependsOn) {
  const uint64_t fingerprint = stream()->fingerprint();
  EXPECT_EQ(stream()->fingerprint(), fingerprint);
  EXPECT_NE(stream({1, 2})->fingerprint(), fingerprint);
  EXPECT_NE(stream({1, 1}, 1, 300)->fingerprint(), fingerprint);
}

TEST_F(BatchStreamTest, SamplesOtherPiecesInEveryEpochAndTheSameOnesAgain) {
  const auto sampling_stream = [&] {
    SubwordSampling sampling;
    sampling.target.emplace(small_tokenizer(), 0.5);
    return std::make_unique<BatchStream>(PairStore(path()), std::vector<double>{1, 1},
                                         BatchOptions{.batch_tokens = 200}, std::move(sampling));
  };
  // The targets of an epoch by their pair.
  const auto targets = [](BatchStream& stream, int64_t epoch) {
    std::map<Sentence, Sentence> targets;
    for (int64_t n = 0; n < stream.size(epoch); ++n) {
      const ParallelCorpus batch = stream.batch(epoch, n);
      for (int64_t i = 0; i < batch.size(); ++i) {
        targets[ids(batch.source(i))] = ids(batch.target(i));
      }
    }
    return targets;
  };
  const auto plain = targets(*stream(), 0), first = targets(*sampling_stream(), 0),
             second = targets(*sampling_stream(), 1);
  EXPECT_EQ(targets(*sampling_stream(), 0), first);
  int changed = 0, differ = 0;
  for (const auto& [source, target] : plain) {
    EXPECT_EQ(small_tokenizer().decode(first.at(source)), small_tokenizer().decode(target));
    changed += first.at(source) != target;
    differ += first.at(source) != second.at(source);
  }
  EXPECT_GT(changed, 300);
  EXPECT_GT(differ, 300);
}

TEST_F(BatchStreamTest, DamageInABatchIsAnErrorWhenItIsAskedFor) {
  std::string bytes = test::content_of(path());
  bytes[16] = static_cast<char>(bytes[16] ^ 1);
  folder_.write("corpus.pairs", bytes);
  const auto damaged = stream();
  EXPECT_THROW(epoch_of(*damaged, 0), Error);
}

TEST_F(BatchStreamTest, WrongQuestionsAreErrors) {
  EXPECT_THROWS(stream({1}), Error, "there are 2 corpora but 1 weights");
  const auto one = stream();
  const auto size = one->size(0);
  EXPECT_THROWS(one->batch(0, size), Error,
                fmt::format("epoch 1 has {} batches, there is no batch {}", size, size + 1));
  const auto none = stream({1e-9, 1e-9});
  EXPECT_THROWS(none->batch(0, 0), Error,
                "epoch 1 has no pair; give some corpus a weight of 1 or more");
}

}  // namespace
}  // namespace filigree::text
