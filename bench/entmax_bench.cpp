// Nanoseconds per entry of α-entmax next to at::softmax, on one thread, in buffers that are kept.
// The counter "entry" is the time. Scores are normal with deviation D. --benchmark_filter='/64/4$'
// runs one size and deviation.
//
//   forward/A/N/D        p of rows of N entries at α = A (1 is softmax)
//   backward/A/N/D       gradient of the scores
//   backward_alpha/A/N/D gradient of the scores and of α
//   at_softmax/N/D, at_softmax_backward/N/D
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "filigree/entmax/kernels.h"

namespace {

constexpr double kAlphas[] = {1.0, 1.05, 1.2, 1.4, 1.5, 1.6, 1.8, 1.95, 2.0};

struct Problem {
  Problem(int64_t n, double deviation, double alpha)
      : alpha(alpha),
        rows(std::max<int64_t>(32, 65536 / n)),
        z(at::randn({rows, n}) * deviation),
        p(at::empty_like(z)),
        dp(at::randn({rows, n})),
        dz(at::empty_like(z)),
        dalpha(rows) {
    forward();
  }

  void forward() {
    filigree::entmax_kernels::forward({rows, z.size(1), z.size(1)}, z.data_ptr<float>(), alpha,
                                      p.data_ptr<float>());
  }
  void backward(bool with_alpha) {
    filigree::entmax_kernels::backward({rows, z.size(1), z.size(1)}, p.data_ptr<float>(),
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
void add(const std::string& name, int64_t n, double deviation, double alpha, Work work) {
  const auto run = [=](benchmark::State& state) {
    Problem problem(n, deviation, alpha);
    for (auto _ : state) work(problem);
    state.counters["entry"] = benchmark::Counter(
        static_cast<double>(problem.z.numel()),
        benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  };
  benchmark::RegisterBenchmark(fmt::format("{}/{}/{}", name, n, deviation).c_str(), run);
}

void add_all(int64_t n, double deviation) {
  add("at_softmax", n, deviation, 1, [](Problem& x) { x.torch_forward(); });
  for (double alpha : kAlphas) {
    add(fmt::format("forward/{}", alpha), n, deviation, alpha, [](Problem& x) { x.forward(); });
  }
  add("at_softmax_backward", n, deviation, 1, [](Problem& x) { x.torch_backward(); });
  for (double alpha : kAlphas) {
    add(fmt::format("backward/{}", alpha), n, deviation, alpha,
        [](Problem& x) { x.backward(false); });
    add(fmt::format("backward_alpha/{}", alpha), n, deviation, alpha,
        [](Problem& x) { x.backward(true); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  at::set_num_threads(1);
  for (int64_t n : {20, 32, 64, 128, 256, 1024, 32000}) {
    for (double deviation : {1.0, 4.0}) add_all(n, deviation);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}
