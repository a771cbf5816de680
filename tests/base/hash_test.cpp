#include "filigree/base/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "filigree/base/error.h"
#include "filigree/base/random.h"
#include "tests/support/temporary_folder.h"

namespace filigree {
namespace {

std::string random_bytes(size_t size) {
  Random random(3);
  std::string bytes(size, 0);
  for (char& c : bytes) c = static_cast<char>(random.next());
  return bytes;
}

TEST(Hash, DoesNotDependOnHowTheBytesAreCut) {
  const std::string bytes = random_bytes(1000);
  Random random(4);
  for (int trial = 0; trial < 50; ++trial) {
    Hasher hasher;
    for (size_t i = 0; i < bytes.size();) {
      const size_t size = std::min<size_t>(bytes.size() - i, random.below(70));
      hasher.update(bytes.data() + i, size);
      i += size;
    }
    ASSERT_EQ(hasher.digest(), hash_bytes(bytes));
  }
}

TEST(Hash, EveryBitAndTheLengthCount) {
  std::string bytes = random_bytes(100);
  std::set<uint64_t> seen = {hash_bytes(bytes), hash_bytes(bytes, 1), hash_bytes("")};
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    seen.insert(hash_bytes(bytes));
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
  for (size_t zeros = 1; zeros < 100; ++zeros) seen.insert(hash_bytes(std::string(zeros, '\0')));
  EXPECT_EQ(seen.size(), 3 + 800 + 99u);
}

TEST(Hash, AChangedBitChangesHalfOfTheDigestsBits) {
  std::string bytes = random_bytes(64);
  const uint64_t before = hash_bytes(bytes);
  int changed = 0;
  for (size_t bit = 0; bit < 512; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    changed += __builtin_popcountll(hash_bytes(bytes) ^ before);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
  // The mean of 512 draws of 64 coins: 32 ± 5 standard deviations of 0.18.
  EXPECT_NEAR(changed / 512.0, 32, 0.9);
}

TEST(Hash, OfAFileIsThatOfItsBytes) {
  const test::TemporaryFolder folder;
  const std::string bytes = random_bytes(3'000'001);
  EXPECT_EQ(hash_file(folder.write("f", bytes)), hash_bytes(bytes));
  EXPECT_EQ(hash_file(folder.write("empty", "")), hash_bytes(""));
  EXPECT_THROW(hash_file(folder / "absent"), Error);
}

TEST(Hash, IsTheSameInEveryRelease) {
  EXPECT_EQ(hash_bytes(""), 5119397270657868791u);
  EXPECT_EQ(hash_bytes("filigree"), 6869621216380716741u);
}

}  // namespace
}  // namespace filigree
