#include "filigree/base/hash.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "filigree/base/random.h"
#include "filigree/base/random_access_file.h"

namespace filigree {
namespace {

// Arbitrary, without a common factor with 2^64 − 1.
constexpr std::array<uint64_t, 4> kMultipliers = {0x875b9307abf55005u, 0xbc4075f2ef431a45u,
                                                  0x06ca0a95b7e825c7u, 0x905c768ad49f146du};

// value · multiplier modulo 2^64 − 1, which loses nothing: two words that differ stay different,
// and a bit that differs moves to about half of the others.
uint64_t fold(uint64_t value, uint64_t multiplier) {
  const auto product = static_cast<unsigned __int128>(value) * multiplier;
  const auto low = static_cast<uint64_t>(product), high = static_cast<uint64_t>(product >> 64);
  return low + high + (low + high < low);
}

}  // namespace

Hasher::Hasher(uint64_t seed) {
  for (size_t lane = 0; lane < lanes_.size(); ++lane) lanes_[lane] = combine(seed, lane);
}

void Hasher::take_stripes(const unsigned char* data, size_t count) {
  auto lanes = lanes_;
  for (; count > 0; --count, data += kStripe) {
    uint64_t words[4];
    std::memcpy(words, data, kStripe);
    for (size_t i = 0; i < 4; ++i) lanes[i] = fold(lanes[i] ^ words[i], kMultipliers[i]);
  }
  lanes_ = lanes;
}

void Hasher::update(const void* data, size_t size) {
  auto bytes = static_cast<const unsigned char*>(data);
  const size_t held = size_ % kStripe;
  size_ += size;
  if (held > 0) {
    const size_t taken = std::min(size, kStripe - held);
    std::memcpy(rest_.data() + held, bytes, taken);
    if (held + taken < kStripe) return;
    take_stripes(rest_.data(), 1);
    bytes += taken;
    size -= taken;
  }
  take_stripes(bytes, size / kStripe);
  std::memcpy(rest_.data(), bytes + size / kStripe * kStripe, size % kStripe);
}

uint64_t Hasher::digest() const {
  Hasher last = *this;
  std::fill(last.rest_.begin() + static_cast<std::ptrdiff_t>(size_ % kStripe), last.rest_.end(),
            static_cast<unsigned char>(0));
  last.take_stripes(last.rest_.data(), 1);
  uint64_t digest = mix(size_);
  for (const uint64_t lane : last.lanes_) digest = combine(digest, lane);
  return digest;
}

uint64_t hash_bytes(const void* data, size_t size, uint64_t seed) {
  Hasher hasher(seed);
  hasher.update(data, size);
  return hasher.digest();
}

uint64_t hash_file(const std::filesystem::path& path) {
  const RandomAccessFile file(path);
  std::vector<char> buffer(std::min<uint64_t>(file.size(), 1 << 20));
  Hasher hasher;
  for (uint64_t offset = 0; offset < file.size();) {
    const size_t size = std::min<uint64_t>(buffer.size(), file.size() - offset);
    file.read(offset, buffer.data(), size);
    hasher.update(buffer.data(), size);
    offset += size;
  }
  return hasher.digest();
}

}  // namespace filigree
