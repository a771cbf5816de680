// A fast 64-bit hash for telling content apart and for finding damage. Not for use against an
// adversary. Its values are written to files: never change them without a new file version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>

namespace filigree {

/// The hash of bytes that come piece by piece; how they are cut does not matter.
///
/// Four lanes of 64 bits each take every fourth word: lane ← (lane ⊕ word) · constant modulo
/// 2^64 − 1.
class Hasher {
 public:
  explicit Hasher(uint64_t seed = 0);
  void update(const void* data, size_t size);
  void update(std::string_view bytes) { update(bytes.data(), bytes.size()); }
  /// A number as its 8 bytes.
  void update(uint64_t number) { update(&number, sizeof(number)); }
  /// Of all bytes so far.
  uint64_t digest() const;

 private:
  void take_stripes(const unsigned char* data, size_t count);

  static constexpr size_t kStripe = 32;
  std::array<uint64_t, 4> lanes_;
  std::array<unsigned char, kStripe> rest_{};  // the first size_ % kStripe bytes count
  uint64_t size_ = 0;
};

/// The hash of a span of bytes.
uint64_t hash_bytes(const void* data, size_t size, uint64_t seed = 0);
inline uint64_t hash_bytes(std::string_view bytes, uint64_t seed = 0) {
  return hash_bytes(bytes.data(), bytes.size(), seed);
}

/// The hash of a file's bytes as they are on disk. Throws Error naming the path.
uint64_t hash_file(const std::filesystem::path& path);

}  // namespace filigree
