#include "filigree/entmax/loss_operators.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "filigree/entmax/loss_kernels.h"
#include "filigree/entmax/operators.h"
#include "filigree/entmax/runs.h"

namespace filigree::entmax_operators {
namespace {

// Where p is not kept, it takes the memory of about this many entries per thread.
constexpr int64_t kScratchEntries = 16384;

template <typename T>
void loss_rows(const at::Tensor& z, const at::Tensor& target, const RowAlphas& alphas,
               double label_smoothing, const at::Tensor& value, const at::Tensor& p,
               const at::Tensor& dalpha) {
  const int64_t size = z.size(-1), rows = z.numel() / size;
  const auto run = [&](int64_t first, int64_t count, double alpha, T* probabilities) {
    entmax_kernels::loss({count, size, size}, z.data_ptr<T>() + first * size,
                         target.data_ptr<int64_t>() + first, alpha, label_smoothing, probabilities,
                         value.data_ptr<T>() + first,
                         dalpha.numel() > 0 ? dalpha.data_ptr<double>() + first : nullptr);
  };
  for_each_run(rows, size, alphas, [&](int64_t first, int64_t count, double alpha) {
    if (p.numel() > 0) return run(first, count, alpha, p.data_ptr<T>() + first * size);
    const int64_t most = std::max<int64_t>(1, kScratchEntries / size);
    std::vector<T> scratch(static_cast<size_t>(std::min(most, count) * size));
    for (int64_t done = 0; done < count; done += most) {
      run(first + done, std::min(most, count - done), alpha, scratch.data());
    }
  });
}

template <typename T>
void loss_backward_rows(const at::Tensor& dloss, const at::Tensor& p, const at::Tensor& target,
                        double label_smoothing, const at::Tensor& dz) {
  const int64_t size = p.size(-1), rows = p.numel() / size;
  for_each_run(rows, size, {{1.0}, rows}, [&](int64_t first, int64_t count, double) {
    entmax_kernels::loss_backward({count, size, size}, p.data_ptr<T>() + first * size,
                                  target.data_ptr<int64_t>() + first, label_smoothing,
                                  dloss.data_ptr<T>() + first, dz.data_ptr<T>() + first * size);
  });
}

}  // namespace

LossOutputs loss_cpu(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                     double label_smoothing, bool keep_p, bool with_alpha) {
  const RowAlphas alphas = row_alphas(alpha, logits, logits.dim() - 1);
  const at::Tensor z = logits.detach().contiguous();
  const at::Tensor classes = target.contiguous();
  const at::Tensor value = at::zeros(target.sizes(), z.options());
  const at::Tensor p = keep_p ? at::empty_like(z) : at::empty({0}, z.options());
  const at::Tensor dalpha =
      at::zeros(with_alpha ? target.sizes() : at::IntArrayRef({0}), z.options().dtype(at::kDouble));
  if (z.numel() > 0) {
    (z.scalar_type() == at::kDouble ? loss_rows<double> : loss_rows<float>)(z, classes, alphas,
                                                                            label_smoothing, value,
                                                                            p, dalpha);
  }
  return {value, p, dalpha};
}

at::Tensor loss_backward_cpu(const at::Tensor& dloss, const at::Tensor& p, const at::Tensor& target,
                             double label_smoothing) {
  const at::Tensor rows = p.detach().contiguous();
  const at::Tensor dvalue = dloss.detach().to(p.scalar_type()).contiguous();
  const at::Tensor dz = at::empty_like(rows);
  if (rows.numel() > 0) {
    (p.scalar_type() == at::kDouble
         ? loss_backward_rows<double>
         : loss_backward_rows<float>)(dvalue, rows, target.contiguous(), label_smoothing, dz);
  }
  return dz;
}

}  // namespace filigree::entmax_operators
