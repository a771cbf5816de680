#include "filigree/entmax/operators.h"

#include <ATen/ATen.h>
#include <ATen/ExpandUtils.h>
#include <ATen/WrapDimUtils.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "filigree/entmax/kernels.h"
#include "filigree/entmax/runs.h"

namespace filigree::entmax_operators {
namespace {

// The tensor as contiguous rows along dim, in the type of the computation.
at::Tensor as_rows(const at::Tensor& tensor, int64_t dim, at::ScalarType type) {
  return tensor.movedim(dim, -1).to(type).contiguous();
}

// Rows back in the caller's order of dimensions and in `type`.
at::Tensor from_rows(const at::Tensor& rows, int64_t dim, at::ScalarType type) {
  return rows.movedim(-1, dim).to(type).contiguous();
}

template <typename T>
void forward_rows(const at::Tensor& z, const RowAlphas& alphas, const at::Tensor& p,
                  const at::Tensor& tau, const at::Tensor& support) {
  const int64_t size = z.size(-1), rows = z.numel() / size;
  for_each_run(rows, size, alphas, [&](int64_t first, int64_t count, double alpha) {
    entmax_kernels::forward({count, size, size}, z.data_ptr<T>() + first * size, alpha,
                            p.data_ptr<T>() + first * size, tau.data_ptr<T>() + first,
                            support.data_ptr<int64_t>() + first);
  });
}

template <typename T>
void backward_rows(const at::Tensor& p, const at::Tensor& dp, const RowAlphas& alphas,
                   const at::Tensor& dz, double* dalpha) {
  const int64_t size = p.size(-1), rows = p.numel() / size;
  for_each_run(rows, size, alphas, [&](int64_t first, int64_t count, double alpha) {
    entmax_kernels::backward({count, size, size}, p.data_ptr<T>() + first * size,
                             dp.data_ptr<T>() + first * size, alpha,
                             dz.data_ptr<T>() + first * size, dalpha ? dalpha + first : nullptr);
  });
}

}  // namespace

at::ScalarType compute_type(at::ScalarType scores) {
  return scores == at::kDouble ? at::kDouble : at::kFloat;
}

void check_types(const at::Tensor& scores, const at::Tensor& alpha) {
  TORCH_CHECK(at::isFloatingType(scores.scalar_type()),
              "entmax: scores must be floating point, but they are ", scores.scalar_type());
  TORCH_CHECK(at::isFloatingType(alpha.scalar_type()),
              "entmax: alpha must be floating point, but it is ", alpha.scalar_type());
}

at::Tensor align_alpha(const at::Tensor& alpha, const at::Tensor& scores, int64_t dim,
                       const char* name) {
  const int64_t dims = scores.dim();
  dim = at::maybe_wrap_dim(dim, dims);
  // In [batch, head, query, key] a vector over the keys could only have size 1, so it is per head.
  if (alpha.dim() == 1 && dims == 4 && dim == 3 && alpha.size(0) == scores.size(1)) {
    return alpha.view({-1, 1, 1});
  }
  bool fits = alpha.dim() <= dims || alpha.numel() == 1;
  for (int64_t i = 1; fits && i <= alpha.dim() && i <= dims; ++i) {
    fits = alpha.size(-i) == 1 || (alpha.size(-i) == scores.size(-i) && dims - i != dim);
  }
  TORCH_CHECK(fits, "entmax: ", name, " of shape ", alpha.sizes(), " does not fit scores of shape ",
              scores.sizes(), ": it must broadcast over them with size 1 along dimension ", dim,
              dims == 4 ? ", or have one value per head" : "");
  return alpha.dim() <= dims ? alpha : alpha.reshape(std::vector<int64_t>(dims, 1));
}

RowAlphas row_alphas(const at::Tensor& aligned, const at::Tensor& scores, int64_t dim) {
  at::Tensor values = aligned.detach().to(at::kDouble);
  int64_t repeat = 1;
  if (values.numel() == 1) {
    repeat = std::max<int64_t>(1, scores.numel());
  } else {
    // One size per dimension of the scores, dim at the end. α that is constant over the last
    // dimensions is not spread over them.
    std::vector<int64_t> shape(scores.dim() - values.dim(), 1);
    shape.insert(shape.end(), values.sizes().begin(), values.sizes().end());
    values = values.reshape(shape).movedim(dim, -1);
    std::vector<int64_t> rows = scores.movedim(dim, -1).sizes().vec();
    rows.back() = 1;
    for (int64_t i = scores.dim() - 2; i >= 0 && values.size(i) == 1; --i) {
      repeat *= std::exchange(rows[i], 1);
    }
    values = values.expand(rows).contiguous();
  }
  const double* data = values.data_ptr<double>();
  RowAlphas alphas{{data, data + values.numel()}, std::max<int64_t>(1, repeat)};
  for (double alpha : alphas.values) {
    TORCH_CHECK(alpha >= 1 && std::isfinite(alpha), "entmax: alpha must be at least 1, but it is ",
                alpha);
  }
  return alphas;
}

Outputs forward_cpu(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  check_types(scores, alpha);
  dim = at::maybe_wrap_dim(dim, scores.dim());
  const at::ScalarType type = compute_type(scores.scalar_type());
  const RowAlphas alphas = row_alphas(align_alpha(alpha, scores, dim), scores, dim);
  if (scores.dim() == 0) {
    auto [p, tau, support] = forward_cpu(scores.unsqueeze(0), alpha.reshape({}), 0);
    return {p.squeeze(0), tau.squeeze(0), support.squeeze(0)};
  }

  const at::Tensor z = as_rows(scores.detach(), dim, type);
  const at::Tensor p = at::empty_like(z);
  std::vector<int64_t> row_shape = z.sizes().vec();
  row_shape.back() = 1;
  const auto infinity = std::numeric_limits<double>::infinity();
  const at::Tensor tau = at::full(row_shape, infinity, z.options());
  const at::Tensor support = at::zeros(row_shape, z.options().dtype(at::kLong));
  if (z.numel() > 0) {
    (type == at::kDouble ? forward_rows<double> : forward_rows<float>)(z, alphas, p, tau, support);
  }
  return {from_rows(p, dim, scores.scalar_type()), tau.movedim(-1, dim), support.movedim(-1, dim)};
}

std::tuple<at::Tensor, at::Tensor> backward_cpu(const at::Tensor& p, const at::Tensor& dp,
                                                const at::Tensor& alpha, int64_t dim,
                                                bool with_alpha) {
  if (p.dim() == 0) {  // The only entry of its row: p = 1 whatever the score and α.
    return {at::zeros_like(p), at::zeros_like(alpha)};
  }
  dim = at::maybe_wrap_dim(dim, p.dim());
  const at::ScalarType type = compute_type(p.scalar_type());
  const at::Tensor aligned = align_alpha(alpha, p, dim);
  const RowAlphas alphas = row_alphas(aligned, p, dim);
  const at::Tensor rows = as_rows(p.detach(), dim, type);
  const at::Tensor cotangent = as_rows(dp.detach(), dim, type);
  const at::Tensor dz = at::empty_like(rows);
  std::vector<int64_t> row_shape = rows.sizes().vec();
  row_shape.back() = 1;
  at::Tensor dalpha = at::zeros(row_shape, rows.options().dtype(at::kDouble));
  if (rows.numel() > 0) {
    (type == at::kDouble ? backward_rows<double>
                         : backward_rows<float>)(rows, cotangent, alphas, dz,
                                                 with_alpha ? dalpha.data_ptr<double>() : nullptr);
  }
  dalpha = at::sum_to(dalpha.movedim(-1, dim), aligned.sizes());
  return {from_rows(dz, dim, p.scalar_type()),
          dalpha.reshape(alpha.sizes()).to(alpha.scalar_type())};
}

}  // namespace filigree::entmax_operators
