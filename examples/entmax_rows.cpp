// α-entmax without LibTorch: two rows of scores through softmax, 1.5-entmax and sparsemax, and what
// a gradient step on α would do.
#include <cstdio>
#include <span>
#include <vector>

#include "filigree/entmax/spans.h"

namespace entmax = filigree::entmax_kernels;

int main() {
  constexpr std::size_t kSize = 4;
  const std::vector<float> scores = {2.0f, 1.5f, 0.1f, -1.0f,   //
                                     0.3f, 0.2f, 0.1f, -4.0f};  // two rows of four
  std::vector<float> p(scores.size());
  for (double alpha : {1.0, 1.5, 2.0}) {
    entmax::forward<float>(scores, kSize, alpha, p);
    std::printf("alpha %.1f\n", alpha);
    for (std::size_t i = 0; i < p.size(); ++i) {
      std::printf("%8.4f%s", p[i], (i + 1) % kSize == 0 ? "\n" : "");
    }
  }

  // The gradient of the first entry of each row.
  const std::vector<float> cotangent = {1, 0, 0, 0, 1, 0, 0, 0};
  std::vector<float> gradient(scores.size());
  std::vector<double> alpha_gradient(2);
  entmax::forward<float>(scores, kSize, 1.5, p);
  entmax::backward<float>(p, cotangent, kSize, 1.5, gradient, alpha_gradient);
  std::printf("dp0/dalpha at 1.5: %.4f %.4f\n", alpha_gradient[0], alpha_gradient[1]);
}
