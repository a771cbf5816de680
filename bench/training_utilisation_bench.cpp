// How much of the processor a training step uses: its floating-point operations per second as a
// share of what matrix products reach in the same run.
//
//     training_utilisation_bench PRESET ATTENTION SOURCE TARGET VOCABULARY [THREADS [ROUNDS
//                                [PRECISION]]]
//
// Every round is one training step (gradient and Adam, dropout 0.3, 4096 target tokens) and then
// the products, on all threads at once: 1024³ by the BLAS, which is the peak, and the step's own
// shapes by the BLAS and by Filigree in two precisions. The medians are printed.
//
// Only the operations of the products count, 2 m n k each and three times for a product with its
// two gradients; the rest of the step is what keeps the share below 1.
#include <cblas.h>
#include <fmt/format.h>
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "filigree/base/blas.h"
#include "filigree/base/error.h"
#include "filigree/base/memory.h"
#include "filigree/base/threads.h"
#include "filigree/model/kernels/matrix_product.h"
#include "filigree/train/corpora.h"
#include "filigree/train/device.h"
#include "filigree/train/gradient_workers.h"
#include "filigree/train/optimizer.h"
#include "filigree/train/worker_group.h"

namespace filigree {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// result [m, n] = op(a) op(b), both row-major in memory; k is summed over.
struct Shape {
  std::string name;
  int64_t m, n, k;
  bool a_transposed, b_transposed;
  double operations() const { return 2.0 * static_cast<double>(m * n * k); }
};

// y = x wᵀ of `rows` positions and its two gradients.
void add_shapes(std::vector<Shape>& shapes, const std::string& name, int64_t rows, int64_t in,
                int64_t out) {
  shapes.push_back({name + " forward", rows, out, in, false, true});
  shapes.push_back({name + " d input", rows, in, out, false, false});
  shapes.push_back({name + " d weight", out, in, rows, true, false});
}

std::vector<Shape> shapes_of(const model::ModelConfig& c, int64_t rows) {
  std::vector<Shape> shapes = {{"1024^3", 1024, 1024, 1024, false, false}};
  add_shapes(shapes, "queries, keys, values", rows, c.d_model, 3 * c.d_model);
  add_shapes(shapes, "feed-forward", rows, c.d_model, c.d_ff);
  add_shapes(shapes, "output layer", std::min<int64_t>(rows, 256), c.d_model, c.target_vocabulary);
  return shapes;
}

double operations_of(const model::ModelConfig& c, const text::ParallelCorpus& batch) {
  double source = 0, target = 0, encoder_pairs = 0, cross_pairs = 0, decoder_pairs = 0;
  for (const text::PairLength& pair : batch.lengths()) {
    const double s = pair.source + 1, t = pair.target + 1;
    source += s;
    target += t;
    encoder_pairs += s * s;
    cross_pairs += s * t;
    decoder_pairs += t * t;
  }
  const auto d = static_cast<double>(c.d_model), ff = static_cast<double>(c.d_ff);
  const auto layers = [](int64_t n) { return static_cast<double>(n); };
  // Forward; scores and weighted sums are 2 d each per pair of positions.
  const double encoder = source * (2 * 4 * d * d + 2 * 2 * d * ff) + encoder_pairs * 4 * d;
  const double decoder = target * (2 * 6 * d * d + 2 * 2 * d * ff) + source * 2 * 2 * d * d +
                         (cross_pairs + decoder_pairs) * 4 * d;
  const double output = target * 2 * d * static_cast<double>(c.target_vocabulary);
  return 3 * (layers(c.encoder_layers) * encoder + layers(c.decoder_layers) * decoder + output);
}

// Operands and result of one thread.
struct Operands {
  explicit Operands(const Shape& s)
      : a(at::randn({s.m * s.k})), b(at::randn({s.k * s.n})), c(at::zeros({s.m * s.n})) {}
  at::Tensor a, b, c;
};

void blas_product(const Shape& s, const Operands& o) {
  cblas_sgemm(CblasRowMajor, s.a_transposed ? CblasTrans : CblasNoTrans,
              s.b_transposed ? CblasTrans : CblasNoTrans, static_cast<int>(s.m),
              static_cast<int>(s.n), static_cast<int>(s.k), 1, o.a.data_ptr<float>(),
              static_cast<int>(s.a_transposed ? s.m : s.k), o.b.data_ptr<float>(),
              static_cast<int>(s.b_transposed ? s.k : s.n), 0, o.c.data_ptr<float>(),
              static_cast<int>(s.n));
}

template <model::Precision precision>
void own_product(const Shape& s, const Operands& o) {
  using model::Matrix;
  const float *a = o.a.data_ptr<float>(), *b = o.b.data_ptr<float>();
  multiply(s.a_transposed ? Matrix<float>{a, s.k, s.m, s.m}.transposed()
                          : Matrix<float>{a, s.m, s.k, s.k},
           model::Strips<float>(s.b_transposed ? Matrix<float>{b, s.n, s.k, s.k}.transposed()
                                               : Matrix<float>{b, s.k, s.n, s.n},
                                precision),
           o.c.data_ptr<float>(), s.n);
}

using Product = void (*)(const Shape&, const Operands&);

// Operations per second of all threads together.
double rate(const Shape& shape, std::vector<Operands>& operands, Product product) {
  const auto repeats = std::max<int64_t>(1, static_cast<int64_t>(1e9 / shape.operations()));
  const int threads = static_cast<int>(operands.size());
  const double started = now_seconds();
  run_parallel(threads, [&](int thread) {
    for (int64_t i = 0; i < repeats; ++i) product(shape, operands[static_cast<size_t>(thread)]);
  });
  return threads * static_cast<double>(repeats) * shape.operations() / (now_seconds() - started);
}

struct Rates {
  std::vector<double> blas, own, own_x3, own_bfloat16;
};

void run(int argc, char** argv) {
  if (argc < 6) {
    throw UsageError(
        "usage: training_utilisation_bench PRESET ATTENTION SOURCE TARGET VOCABULARY "
        "[THREADS [ROUNDS [PRECISION]]]");
  }
  const int threads = argc > 6 ? std::atoi(argv[6]) : usable_cores();
  const int rounds = argc > 7 ? std::atoi(argv[7]) : 7;
  const model::Precision precision = train::parse_precision(argc > 8 ? argv[8] : "float32");
  at::set_num_threads(1);
  set_blas_threads(1);

  train::TrainOptions options;
  model::ModelConfig& config = options.model_config;
  model::apply_preset(config, argv[1]);
  for (const auto block : model::kAttentionBlocks) {
    config.attention(block).transform = model::parse_transform(argv[2], "ATTENTION");
  }
  options.train_sets = {argv[3], argv[4]};
  options.vocabs = {argv[5]};
  options.data_cache = std::filesystem::temp_directory_path() / "filigree-bench-cache";
  const model::Tokenizers tokenizers = train::prepare_tokenizers(options, false);
  train::set_vocabulary(config, tokenizers);
  text::CorpusReport report;
  const auto batches = train::make_batch_stream(
      options, tokenizers, train::open_training_sets(options, tokenizers, report), 1);

  model::Transformer model(config);
  model.initialise(1);
  train::OptimizerState state = train::initial_optimizer_state(
      options, model.parameters().values(), train::trained_ranges(model.parameters(), {}));
  train::WorkerGroup alone;
  train::GradientWorkers workers(model, threads, alone);
  int64_t step = 0;
  // Seconds, operations and target tokens of one step.
  const auto train = [&] {
    const text::ParallelCorpus batch = batches->batch(0, step % batches->size(0));
    const double started = now_seconds();
    const model::LossSums sums = workers.compute(
        std::span(&batch, 1), {.dropout = 0.3, .label_smoothing = 0.1, .precision = precision},
        static_cast<uint64_t>(step));
    train::apply_gradient(options, ++step, 1, workers.gradient(), workers.gradient_norm(),
                          model.parameters().values(), state, threads);
    return std::tuple{now_seconds() - started, operations_of(config, batch),
                      static_cast<double>(sums.tokens)};
  };

  const std::vector<Shape> shapes = shapes_of(config, options.batch_tokens / threads);
  std::vector<std::vector<Operands>> operands;
  for (const Shape& shape : shapes) {
    operands.emplace_back();
    for (int i = 0; i < threads; ++i) operands.back().emplace_back(shape);
  }
  std::vector<Rates> rates(shapes.size());
  std::vector<double> tokens_per_second, operations_per_second, operations_per_token, shares;
  train();
  for (int round = 0; round < rounds; ++round) {
    double seconds = 0, operations = 0, tokens = 0;
    for (int i = 0; i < 3; ++i) {
      const auto [s, o, t] = train();
      seconds += s;
      operations += o;
      tokens += t;
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      rates[i].blas.push_back(rate(shapes[i], operands[i], blas_product));
      rates[i].own.push_back(rate(shapes[i], operands[i], own_product<model::Precision::kFloat32>));
      rates[i].own_x3.push_back(
          rate(shapes[i], operands[i], own_product<model::Precision::kBfloat16x3>));
      rates[i].own_bfloat16.push_back(
          rate(shapes[i], operands[i], own_product<model::Precision::kBfloat16>));
    }
    tokens_per_second.push_back(tokens / seconds);
    operations_per_second.push_back(operations / seconds);
    operations_per_token.push_back(operations / tokens);
    shares.push_back(operations / seconds / rates[0].blas.back());
  }

  fmt::print("{} {} {}, {} threads, {} rounds; medians\n", argv[1], argv[2],
             argc > 8 ? argv[8] : "float32", threads, rounds);
  fmt::print("{:28} {:>6} {:>6} {:>6}   BLAS, GFLOP/s   Filigree   bfloat16x3   bfloat16\n",
             "product", "m", "n", "k");
  for (size_t i = 0; i < shapes.size(); ++i) {
    fmt::print("{:28} {:6} {:6} {:6}   {:13.0f}   {:8.0f}   {:10.0f}   {:8.0f}\n", shapes[i].name,
               shapes[i].m, shapes[i].n, shapes[i].k, median(rates[i].blas) / 1e9,
               median(rates[i].own) / 1e9, median(rates[i].own_x3) / 1e9,
               median(rates[i].own_bfloat16) / 1e9);
  }
  fmt::print(
      "step: {:.0f} target tokens/s, {:.1f} MFLOP/token, {:.0f} GFLOP/s, {:.0f}% of 1024^3\n",
      median(tokens_per_second), median(operations_per_token) / 1e6,
      median(operations_per_second) / 1e9, 100 * median(shares));
}

}  // namespace
}  // namespace filigree

int main(int argc, char** argv) {
  filigree::keep_freed_memory();
  try {
    filigree::run(argc, argv);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
