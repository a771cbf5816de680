// Attention of one sequence and head whose work and memory after the scores follow the support of
// α-entmax: scores exist for a block of queries at a time, the weights are kept compressed, and the
// products with values, keys and queries touch what is not zero. Where a block of queries sees most
// of its keys the products are dense. No LibTorch.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>

namespace filigree::entmax_kernels {

/// A matrix whose rows lie `stride` elements apart, the elements of a row side by side.
template <typename T>
struct Matrix {
  T* data;
  int64_t stride;
  T* row(int64_t r) const { return data + r * stride; }
};

/// Softmax-like attention of `queries` queries over `keys` keys, T float or double. The scores are
/// scale · ⟨query, key⟩ + bias.
template <typename T>
struct AttentionHead {
  int64_t queries, keys;
  int64_t width, value_width;  ///< of queries and keys; of values and output
  Matrix<const T> query, key, value;
  double alpha;      ///< finite, at least 1
  double scale = 1;  ///< positive
  /// Query i sees the keys before i + lead, of those that there are. Without causality: `keys`.
  int64_t lead;
  /// May be null. Otherwise bias[i · bias_row + j · bias_column] belongs to query i and key j.
  const T* bias = nullptr;
  int64_t bias_row = 0, bias_column = 0;
  double dropout = 0;  ///< probability in [0, 1) of a weight to be dropped
  /// The mask of dropout.h: weight (i, j) is element dropout_first + i · dropout_row + j.
  uint64_t dropout_key = 0, dropout_first = 0;
  int64_t dropout_row = 0;
};

/// Queries whose weights are stored together: block b holds queries b · kBlockQueries and
/// following.
inline constexpr int64_t kBlockQueries = 48;

inline int64_t attention_blocks(int64_t queries) {
  return (queries + kBlockQueries - 1) / kBlockQueries;
}

/// The weights of one block, before dropout, where forward() left them.
template <typename T>
struct WeightBlock {
  bool dense;
  int64_t pitch;         ///< dense: row r is at value + r · pitch, of the keys it sees
  const int32_t* begin;  ///< else entries begin[r] … begin[r + 1] − 1 of row r
  const int32_t* key;    ///< in ascending order
  const T* value;        ///< not zero (NaN in rows that have NaN)
};

/// Memory for weights, in chunks that the caller owns and keeps until the backward. One per thread.
class WeightMemory {
 public:
  struct Chunk {
    int64_t id;
    std::byte* data;  ///< aligned to 64 bytes
    int64_t size;
  };
  /// allocate(bytes) makes a chunk of at least so many.
  explicit WeightMemory(std::function<Chunk(int64_t)> allocate) : allocate_(std::move(allocate)) {}

  /// Room for `bytes`, aligned to 64 bytes; it is kept up to what commit() says.
  std::byte* reserve(int64_t bytes);
  /// Keeps the first `bytes` of what was reserved and returns where they are.
  int64_t commit(int64_t bytes);

  /// A place is a chunk and the bytes before it there.
  static int64_t chunk_of(int64_t place) { return place >> kOffsetBits; }
  static int64_t offset_of(int64_t place) { return place & ((int64_t{1} << kOffsetBits) - 1); }

 private:
  static constexpr int kOffsetBits = 40;
  std::function<Chunk(int64_t)> allocate_;
  Chunk chunk_{0, nullptr, 0};
  int64_t used_ = 0;
};

/// What forward() left at a place.
template <typename T>
WeightBlock<T> weight_block(const std::byte* place);

/// An array that grows to what is asked for and is not cleared.
template <typename T>
class Room {
 public:
  T* at_least(int64_t size) {
    if (size > size_) {
      memory_ = hwy::AllocateAligned<T>(static_cast<size_t>(size));
      size_ = size;
    }
    return memory_.get();
  }

 private:
  hwy::AlignedFreeUniquePtr<T[]> memory_;
  int64_t size_ = 0;
};

/// Scratch memory of a thread.
template <typename T>
struct AttentionWorkspace {
  Room<T> scores, dropped, factors, values, slopes;
  Room<T> packed, solver;
  Room<T> query, key, value, output, columns;  ///< operands in whole vectors, and transposed
  Room<T> query_sum, key_sum, value_sum;       ///< their gradients
  Room<int32_t> keys, kept, order, begin;
  Room<double> alpha_rows;
};

/// The blocks first … last − 1 of a head, of those that there are.
struct BlockRange {
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
};

/// Writes the rows of `output` that belong to the blocks. memory (may be null: nothing is kept)
/// takes their weights; places[b] receives the place of block b. Returns the number of weights
/// above 0.
template <typename T>
int64_t attention_forward(const AttentionHead<T>& head, BlockRange blocks, Matrix<T> output,
                          WeightMemory* memory, int64_t* places, AttentionWorkspace<T>& workspace);

template <typename T>
struct AttentionGradients {
  Matrix<T> query;       ///< the rows of the blocks are written
  Matrix<T> key, value;  ///< added to
  bool alpha;            ///< whether the gradient of α is asked for
};

/// Returns the weights of block b that forward() kept.
template <typename T>
using FindBlock = std::function<WeightBlock<T>(int64_t)>;

/// Gradients from the cotangent of the output and the weights of the blocks. The result is the
/// gradient of α (0 unless asked for).
template <typename T>
double attention_backward(const AttentionHead<T>& head, BlockRange blocks, const FindBlock<T>& find,
                          Matrix<const T> output_gradient, const AttentionGradients<T>& gradients,
                          AttentionWorkspace<T>& workspace);

}  // namespace filigree::entmax_kernels
