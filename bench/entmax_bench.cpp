// Nanoseconds per row of α-entmax next to at::softmax, on one thread, for normal scores of
// deviation 2. Run with --benchmark_filter='/40$' for one size; the counter "row" is the time.
//
//   forward/A/N        p of rows of N entries at α = A (1 is softmax)
//   backward/A/N       gradient of the scores
//   backward_alpha/A/N gradient of the scores and of α
//   at_softmax/N, at_softmax_backward/N
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "filigree/entmax/kernels.h"

namespace {

constexpr double kAlphas[] = {1.0, 1.1, 1.3, 1.5, 1.7, 1.9, 2.0};

struct Problem {
  Problem(int64_t n, double alpha)
      : alpha(alpha),
        rows(std::max<int64_t>(64, 32768 / n)),
        z(at::randn({rows, n}) * 2),
        p(at::empty_like(z)),
        dp(at::randn({rows, n})),
        dz(at::empty_like(z)),
        dalpha(rows) {
    forward();
  }

  void forward() {
    filigree::entmax::forward({rows, z.size(1), z.size(1)}, z.data_ptr<float>(), alpha,
                              p.data_ptr<float>());
  }
  void backward(bool with_alpha) {
    filigree::entmax::backward({rows, z.size(1), z.size(1)}, p.data_ptr<float>(),
                               dp.data_ptr<float>(), alpha, dz.data_ptr<float>(),
                               with_alpha ? dalpha.data() : nullptr);
  }
  void torch_forward() { at::_softmax_out(p, z, -1, false); }
  void torch_backward() { at::_softmax_backward_data_out(dz, dp, p, -1, at::kFloat); }

  double alpha;
  int64_t rows;
  at::Tensor z, p, dp, dz;
  std::vector<double> dalpha;
};

template <typename Work>
void add(const std::string& name, int64_t n, double alpha, Work work) {
  const auto run = [=](benchmark::State& state) {
    Problem problem(n, alpha);
    for (auto _ : state) work(problem);
    state.counters["row"] = benchmark::Counter(
        static_cast<double>(problem.rows),
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  };
  benchmark::RegisterBenchmark(fmt::format("{}/{}", name, n).c_str(), run);
}

void add_all(int64_t n) {
  add("at_softmax", n, 1, [](Problem& x) { x.torch_forward(); });
  for (double alpha : kAlphas) {
    add(fmt::format("forward/{}", alpha), n, alpha, [](Problem& x) { x.forward(); });
  }
  add("at_softmax_backward", n, 1, [](Problem& x) { x.torch_backward(); });
  for (double alpha : kAlphas) {
    add(fmt::format("backward/{}", alpha), n, alpha, [](Problem& x) { x.backward(false); });
    add(fmt::format("backward_alpha/{}", alpha), n, alpha, [](Problem& x) { x.backward(true); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  for (int64_t n : {8, 16, 25, 40, 64, 128, 256, 1024}) add_all(n);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
