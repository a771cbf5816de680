// Random numbers that depend on a key and a counter only: the same on every machine, for any number
// of threads, and needing no state to be saved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace filigree {

/// A 64-bit mix (the finaliser of SplitMix64): a bijection whose output bits all depend on all
/// input bits.
constexpr uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// A key for a sub-stream: combine(seed, epoch), combine(combine(seed, step), layer), …
constexpr uint64_t combine(uint64_t key, uint64_t value) { return mix(key ^ mix(value)); }

/// A stream of random numbers from a key.
class Random {
 public:
  explicit Random(uint64_t key) : key_(key) {}
  uint64_t next() { return mix(key_ ^ mix(counter_++)); }
  /// Uniform over 0 … bound − 1; bound > 0. (The bias, below bound / 2^64, does not matter here.)
  uint64_t below(uint64_t bound) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  /// Uniform over [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  /// Fisher-Yates; the same order on every platform, unlike std::shuffle.
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[below(i)]);
  }

 private:
  uint64_t key_, counter_ = 0;
};

}  // namespace filigree
