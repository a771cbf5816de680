#include "filigree/entmax/head_attention.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "filigree/entmax/head_blocks.h"
#include "filigree/entmax/sparse_attention.h"

namespace filigree::entmax_operators {
namespace {

using namespace entmax_kernels;

// Row matrix of sequence b and head h.
template <typename T>
Matrix<T> matrix_of(const at::Tensor& tensor, int64_t b, int64_t h) {
  auto* const data = const_cast<std::remove_const_t<T>*>(tensor.data_ptr<std::remove_const_t<T>>());
  return {data + b * tensor.stride(0) + h * tensor.stride(1), tensor.stride(2)};
}

template <typename T>
AttentionHead<T> head_of(const HeadTensors& in, int64_t b, int64_t h) {
  const EntmaxAttentionOptions& options = in.options;
  AttentionHead<T> head{};
  head.queries = in.queries();
  head.keys =
      options.key_lengths.defined() ? options.key_lengths.data_ptr<int32_t>()[b] : in.keys();
  head.width = in.query.size(3);
  head.value_width = in.value.size(3);
  head.query = matrix_of<const T>(in.query, b, h);
  head.key = matrix_of<const T>(in.key, b, h);
  head.value = matrix_of<const T>(in.value, b, h);
  head.alpha = in.alphas[static_cast<size_t>(h)];
  head.scale = options.scale;
  head.lead = options.causal ? 1 + in.keys() - in.queries() : in.keys();
  if (options.bias.defined()) {
    const at::Tensor& bias = options.bias;
    head.bias = bias.data_ptr<T>() + b * bias.stride(0) + h * bias.stride(1);
    head.bias_row = bias.stride(2);
    head.bias_column = bias.stride(3);
  }
  head.dropout = options.dropout;
  head.dropout_key = static_cast<uint64_t>(options.seed);
  head.dropout_row = in.keys();
  head.dropout_first = static_cast<uint64_t>((b * in.heads() + h) * in.queries() * in.keys());
  return head;
}

// Heads, or parts of heads where there are too few of them: a dense head takes several times as
// long as a sparse one, and threads that have nothing left to do wait. Which thread does what
// changes nothing in the results.
struct Work {
  int64_t heads, blocks, parts;

  explicit Work(const HeadTensors& in)
      : heads(in.batch() * in.heads()), blocks(attention_blocks(in.queries())), parts(1) {
    const int64_t threads = at::get_num_threads(), enough = 2 * threads;
    if (threads > 1 && heads > 0 && heads < enough) {
      parts = std::clamp<int64_t>((enough + heads - 1) / heads, 1, blocks);
    }
  }

  // Neighbours, because the backward takes blocks together.
  BlockRange range(int64_t part) const {
    return {part * blocks / parts, (part + 1) * blocks / parts};
  }

  // work(head, part, thread) for all.
  template <typename Function>
  void run(const HeadTensors& in, Function&& work) const {
    const int64_t size = std::max<int64_t>(1, in.queries() * in.keys() * in.query.size(3) * heads);
    constexpr int64_t kGrain = 1 << 17;  // products that are worth a thread
    const int64_t threads = std::clamp<int64_t>(std::min<int64_t>(size / kGrain, heads * parts), 1,
                                                at::get_num_threads());
    std::atomic<int64_t> next{0};
    at::parallel_for(0, threads, 1, [&](int64_t first, int64_t) {
      for (int64_t item = next++; item < heads * parts; item = next++) {
        work(item / parts, item % parts, first);
      }
    });
  }
};

// One memory for each thread, all of them in one list of chunks.
class Chunks {
 public:
  explicit Chunks(std::vector<at::Tensor>& chunks) : chunks_(chunks) {}

  WeightMemory memory() {
    return WeightMemory([this](int64_t bytes) {
      const std::lock_guard lock(mutex_);
      chunks_.push_back(at::empty({bytes}, at::kByte));
      const at::Tensor& chunk = chunks_.back();
      return WeightMemory::Chunk{static_cast<int64_t>(chunks_.size()) - 1,
                                 reinterpret_cast<std::byte*>(chunk.data_ptr<uint8_t>()), bytes};
    });
  }

 private:
  std::vector<at::Tensor>& chunks_;
  std::mutex mutex_;
};

template <typename T>
WeightBlock<T> stored_block(const StoredHeads& stored, int64_t head, int64_t block) {
  const int64_t place = stored.places.data_ptr<int64_t>()[head * stored.places.size(1) + block];
  const at::Tensor& chunk = stored.chunks[static_cast<size_t>(WeightMemory::chunk_of(place))];
  return weight_block<T>(reinterpret_cast<const std::byte*>(chunk.data_ptr<uint8_t>()) +
                         WeightMemory::offset_of(place));
}

// rows(row number, keys or null, values, count) for all stored rows in order.
template <typename T, typename Function>
void each_stored_row(const HeadTensors& in, const StoredHeads& stored, Function&& rows) {
  for (int64_t h = 0; h < in.batch() * in.heads(); ++h) {
    const AttentionHead<T> head = head_of<T>(in, h / in.heads(), h % in.heads());
    for (int64_t b = 0; b < attention_blocks(in.queries()); ++b) {
      const BlockRows block = block_rows(head, b);
      const WeightBlock<T> weights = stored_block<T>(stored, h, b);
      for (int64_t r = 0; r < block.count; ++r) {
        const int64_t row = h * in.queries() + block.first + r;
        if (weights.dense) {
          rows(row, static_cast<const int32_t*>(nullptr), weights.value + r * weights.pitch,
               static_cast<int64_t>(block.lengths[r]));
        } else {
          const int32_t first = weights.begin[r];
          rows(row, weights.key + first, weights.value + first,
               static_cast<int64_t>(weights.begin[r + 1] - first));
        }
      }
    }
  }
}

}  // namespace

void attention_forward(const HeadTensors& in, const at::Tensor& output, StoredHeads* stored) {
  const Work work(in);
  const int64_t blocks = work.blocks;
  int64_t* places = nullptr;
  std::vector<WeightMemory> memories;
  std::vector<at::Tensor> none;
  Chunks chunks(stored ? stored->chunks : none);
  if (stored) {
    stored->places = at::empty({work.heads, blocks}, at::kLong);
    places = stored->places.data_ptr<int64_t>();
  }
  for (int i = 0; i < at::get_num_threads(); ++i) memories.push_back(chunks.memory());
  AT_DISPATCH_FLOATING_TYPES(in.query.scalar_type(), "entmax_attention", [&] {
    std::vector<AttentionWorkspace<scalar_t>> workspaces(memories.size());
    work.run(in, [&](int64_t h, int64_t part, int64_t thread) {
      const int64_t b = h / in.heads(), head = h % in.heads();
      const auto at = static_cast<size_t>(thread);
      entmax_kernels::attention_forward<scalar_t>(
          head_of<scalar_t>(in, b, head), work.range(part), matrix_of<scalar_t>(output, b, head),
          stored ? &memories[at] : nullptr, stored ? places + h * blocks : nullptr, workspaces[at]);
    });
  });
}

HeadGradients attention_backward(const HeadTensors& in, const StoredHeads& stored,
                                 const at::Tensor& output_gradient, bool with_alpha) {
  const Work work(in);
  HeadGradients out{at::empty_like(in.query), at::zeros_like(in.key), at::zeros_like(in.value), {}};
  // The other parts of a head add to memory of their own.
  std::vector<at::Tensor> keys{out.key}, values{out.value};
  for (int64_t part = 1; part < work.parts; ++part) {
    keys.push_back(at::zeros_like(in.key));
    values.push_back(at::zeros_like(in.value));
  }
  std::vector<double> alphas(static_cast<size_t>(work.heads * work.parts));
  AT_DISPATCH_FLOATING_TYPES(in.query.scalar_type(), "entmax_attention_backward", [&] {
    std::vector<AttentionWorkspace<scalar_t>> workspaces(
        static_cast<size_t>(at::get_num_threads()));
    work.run(in, [&](int64_t h, int64_t part, int64_t thread) {
      const int64_t b = h / in.heads(), head = h % in.heads();
      const auto p = static_cast<size_t>(part);
      const AttentionGradients<scalar_t> gradients{
          matrix_of<scalar_t>(out.query, b, head), matrix_of<scalar_t>(keys[p], b, head),
          matrix_of<scalar_t>(values[p], b, head), with_alpha};
      alphas[static_cast<size_t>(h * work.parts + part)] =
          entmax_kernels::attention_backward<scalar_t>(
              head_of<scalar_t>(in, b, head), work.range(part),
              [&](int64_t block) { return stored_block<scalar_t>(stored, h, block); },
              matrix_of<const scalar_t>(output_gradient, b, head), gradients,
              workspaces[static_cast<size_t>(thread)]);
    });
  });
  for (size_t part = 1; part < keys.size(); ++part) {
    out.key += keys[part];
    out.value += values[part];
  }
  if (with_alpha) {
    out.alpha = at::zeros({in.heads()}, at::kDouble);
    double* const sums = out.alpha.data_ptr<double>();
    for (int64_t h = 0; h < work.heads; ++h) {
      for (int64_t part = 0; part < work.parts; ++part) {
        sums[h % in.heads()] += alphas[static_cast<size_t>(h * work.parts + part)];
      }
    }
  }
  return out;
}

at::Tensor dense_weights(const HeadTensors& in, const StoredHeads& stored) {
  const at::Tensor dense =
      at::zeros({in.batch(), in.heads(), in.queries(), in.keys()}, in.query.options());
  AT_DISPATCH_FLOATING_TYPES(dense.scalar_type(), "entmax_attention_weights", [&] {
    scalar_t* const to = dense.data_ptr<scalar_t>();
    each_stored_row<scalar_t>(
        in, stored, [&](int64_t r, const int32_t* keys, const scalar_t* values, int64_t count) {
          scalar_t* const row = to + r * in.keys();
          for (int64_t i = 0; i < count; ++i) row[keys ? keys[i] : i] = values[i];
        });
  });
  return dense;
}

AttentionRows weight_rows(const HeadTensors& in, const StoredHeads& stored) {
  AttentionRows rows;
  const int64_t count = in.batch() * in.heads() * in.queries();
  rows.offsets = at::zeros({count + 1}, at::kLong);
  int64_t* const offsets = rows.offsets.data_ptr<int64_t>();
  AT_DISPATCH_FLOATING_TYPES(in.query.scalar_type(), "entmax_attention_rows", [&] {
    each_stored_row<scalar_t>(
        in, stored, [&](int64_t r, const int32_t*, const scalar_t* values, int64_t size) {
          offsets[r + 1] =
              offsets[r] + std::count_if(values, values + size, [](scalar_t p) { return p != 0; });
        });
    rows.keys = at::empty({offsets[count]}, at::kLong);
    rows.weights = at::empty({offsets[count]}, in.query.options());
    int64_t* const to_keys = rows.keys.data_ptr<int64_t>();
    scalar_t* const to = rows.weights.data_ptr<scalar_t>();
    each_stored_row<scalar_t>(
        in, stored, [&](int64_t r, const int32_t* keys, const scalar_t* values, int64_t size) {
          for (int64_t i = 0, at = offsets[r]; i < size; ++i) {
            if (values[i] == 0) continue;
            to_keys[at] = keys ? keys[i] : i;
            to[at++] = values[i];
          }
        });
  });
  return rows;
}

}  // namespace filigree::entmax_operators
