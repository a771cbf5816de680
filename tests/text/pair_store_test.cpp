#include "filigree/text/pair_store.h"

#include <gmock/gmock.h>

#include <fstream>

#include "filigree/base/random.h"
#include "tests/support/small_disk.h"
#include "tests/support/temporary_folder.h"
#include "tests/text/matchers.h"

namespace filigree::text {
namespace {

using test::content_of;
using test::TemporaryFolder;

struct Pair {
  std::vector<int32_t> source, target;
  bool operator==(const Pair&) const = default;
};

std::vector<Pair> random_pairs(int count, int vocabulary) {
  Random random(9);
  std::vector<Pair> pairs(static_cast<size_t>(count));
  for (Pair& pair : pairs) {
    for (auto* side : {&pair.source, &pair.target}) {
      side->resize(1 + random.below(9));
      for (int32_t& id : *side) id = static_cast<int32_t>(random.below(vocabulary));
    }
  }
  return pairs;
}

void write(const std::string& path, const std::vector<Pair>& pairs, int vocabulary) {
  PairStoreWriter writer(path, vocabulary);
  for (const Pair& pair : pairs) writer.add(pair.source, pair.target);
  SourceReport report{.read = writer.size() + 3, .too_long = 3, .kept = writer.size()};
  writer.commit({&report, 1});
}

Pair read(const PairStore& store, int64_t i) {
  Pair pair;
  store.read(i, pair.source, pair.target);
  return pair;
}

std::vector<Pair> read_all(const PairStore& store) {
  std::vector<Pair> pairs;
  for (int64_t i = 0; i < store.size(); ++i) pairs.push_back(read(store, i));
  return pairs;
}

class PairStoreOf : public testing::TestWithParam<int> {};

TEST_P(PairStoreOf, ReturnsWhatWasWritten) {
  const TemporaryFolder folder;
  const std::vector<Pair> pairs = random_pairs(1000, GetParam());
  write(folder / "f", pairs, GetParam());
  const PairStore store(folder / "f");
  EXPECT_EQ(read_all(store), pairs);
  ASSERT_EQ(store.lengths().size(), pairs.size());
  for (size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_EQ(store.lengths()[i].source, static_cast<int32_t>(pairs[i].source.size()));
    EXPECT_EQ(store.lengths()[i].target, static_cast<int32_t>(pairs[i].target.size()));
  }
  ASSERT_EQ(store.corpora().size(), 1u);
  EXPECT_EQ(store.corpora()[0].too_long, 3);
  EXPECT_EQ(store.corpora()[0].kept, 1000);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, PairStoreOf, testing::Values(80, 1 << 16, (1 << 16) + 1));

TEST(PairStore, IdsOfSmallVocabulariesTakeTwoBytes) {
  const TemporaryFolder folder;
  const std::vector<Pair> pairs = random_pairs(1000, 80);
  write(folder / "narrow", pairs, 1 << 16);
  write(folder / "wide", pairs, (1 << 16) + 1);
  size_t ids = 0;
  for (const Pair& pair : pairs) ids += pair.source.size() + pair.target.size();
  EXPECT_NEAR(static_cast<double>(content_of(folder / "wide").size()),
              static_cast<double>(content_of(folder / "narrow").size() + 2 * ids), 8);
}

TEST(PairStore, TheFingerprintIsOfThePairsAndTheirOrder) {
  const TemporaryFolder folder;
  std::vector<Pair> pairs = random_pairs(50, 80);
  const auto fingerprint = [&] {
    write(folder / "f", pairs, 80);
    return PairStore(folder / "f").fingerprint();
  };
  const uint64_t first = fingerprint();
  EXPECT_EQ(fingerprint(), first);
  pairs[20].target[0] ^= 1;
  EXPECT_NE(fingerprint(), first);
  pairs[20].target[0] ^= 1;
  std::swap(pairs[3], pairs[4]);
  EXPECT_NE(fingerprint(), first);
}

// Reads the whole store; the number of the first pair that fails, −1 when it does not open, or
// nothing when all is as it was.
std::optional<int64_t> first_failure(const std::string& path, const std::vector<Pair>& pairs) {
  int64_t next = -1;
  try {
    const PairStore store(path);
    for (next = 0; next < store.size(); ++next) {
      EXPECT_EQ(read(store, next), pairs[static_cast<size_t>(next)]);
    }
    return std::nullopt;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::StartsWith(path + ": "));
    return next;
  }
}

TEST(PairStore, AFlippedBitAnywhereIsNoticed) {
  const TemporaryFolder folder;
  const std::vector<Pair> pairs = random_pairs(70, 80);
  write(folder / "whole", pairs, 80);
  const std::string whole = content_of(folder / "whole");
  ASSERT_EQ(first_failure(folder / "whole", pairs), std::nullopt);
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << byte % 8));
    EXPECT_NE(first_failure(folder.write("damaged", damaged), pairs), std::nullopt) << byte;
  }
}

TEST(PairStore, AFileCutShortOrMadeLongerIsNoticed) {
  const TemporaryFolder folder;
  write(folder / "whole", random_pairs(20, 80), 80);
  const std::string whole = content_of(folder / "whole");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(first_failure(folder.write("damaged", whole.substr(0, size)), {}), -1) << size;
  }
  EXPECT_EQ(first_failure(folder.write("damaged", whole + "x"), {}), -1);
}

TEST(PairStore, ADamagedPairIsNamedAndTheFileRemoved) {
  const TemporaryFolder folder;
  const std::vector<Pair> pairs = random_pairs(70, 80);
  write(folder / "f", pairs, 80);
  std::string bytes = content_of(folder / "f");
  bytes[16] = static_cast<char>(bytes[16] ^ 1);  // the first id
  folder.write("f", bytes);
  const PairStore store(folder / "f");
  Pair pair;
  EXPECT_THROWS(store.read(0, pair.source, pair.target), Error,
                (folder / "f") + ": pair 1 is damaged; the file is removed and will be made again");
  EXPECT_EQ(folder.listing(), "");
  EXPECT_EQ(read(store, 1), pairs[1]);
}

TEST(PairStore, OtherFilesAreRefusedWithTheReason) {
  const TemporaryFolder folder;
  EXPECT_THROWS(PairStore(folder.write("a", std::string(100, 'x'))), Error,
                (folder / "a") + ": is not a file of tokenised pairs");
  EXPECT_THROWS(PairStore(folder.write("b", "")), Error, (folder / "b") + ": damaged: cut short");
  write(folder / "c", random_pairs(3, 80), 80);
  std::string bytes = content_of(folder / "c");
  bytes[8] = 99;
  EXPECT_THROWS(PairStore(folder.write("c", bytes)), Error,
                (folder / "c") + ": is of another version");
}

TEST(PairStore, AFullDiskIsAnErrorAndLeavesNothing) {
  FILIGREE_MOUNT_OR_SKIP(disk, 64 << 10);
  EXPECT_THROWS(write(*disk / "f", random_pairs(10'000, 80), 80), Error,
                (*disk / "f") + ": cannot write: No space left on device");
  EXPECT_TRUE(std::filesystem::is_empty(disk->path()));
}

}  // namespace
}  // namespace filigree::text
