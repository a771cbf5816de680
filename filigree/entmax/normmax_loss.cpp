#include <torch/library.h>

#include "filigree/entmax/autocast.h"
#include "filigree/entmax/centred.h"
#include "filigree/entmax/loss_arguments.h"
#include "filigree/entmax/normmax.h"

namespace filigree {
namespace {

using namespace entmax_operators;

// ‖p‖_α of every row of p, with a gradient in both.
at::Tensor norm(const at::Tensor& p, const at::Tensor& alpha) {
  const at::Tensor on = p > 0;
  const at::Tensor power = at::where(on, p, at::ones_like(p)).pow(alpha);
  const at::Tensor sum = at::where(on, power, at::zeros_like(p)).sum(-1, /*keepdim=*/true);
  return at::where(sum > 0, sum, at::ones_like(sum)).pow(1 / alpha);
}

// Loss of every row; target is −1 where the row is ignored.
at::Tensor loss_of_rows(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                        double label_smoothing) {
  const at::Tensor ignored = (target < 0).unsqueeze(-1);
  const at::Tensor z = at::where(ignored, at::zeros_like(logits), logits);
  const at::Tensor p = normmax(z, alpha);
  const Centred row = centre(z, -1);
  at::Tensor loss = row.sum(p * row.scores) + 1 - norm(p, alpha);
  if (label_smoothing < 1) {
    const at::Tensor index = target.clamp_min(0).unsqueeze(-1);
    const at::Tensor reached = row.present.gather(-1, index);
    loss = loss - (1 - label_smoothing) * row.scores.gather(-1, index);
    loss = at::where(reached, loss, at::full_like(loss, std::numeric_limits<double>::infinity()));
  }
  if (label_smoothing > 0) {
    loss = loss - label_smoothing * row.sum(row.scores) / row.sum(row.present.to(at::kDouble));
  }
  if (label_smoothing == 0) loss = loss - loss.detach().clamp_max(0);  // rounding, not more
  loss = at::where(row.nan, row.sum(p), loss);
  return at::where(ignored | row.masked, at::zeros_like(loss), loss).squeeze(-1);
}

at::Tensor from_tensor(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                       int64_t dim, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
  return normmax_loss(logits, target, alpha, dim, reduction, ignore_index, label_smoothing);
}

at::Tensor from_scalar(const at::Tensor& logits, const at::Tensor& target, double alpha,
                       int64_t dim, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
  return normmax_loss(logits, target, alpha, dim, reduction, ignore_index, label_smoothing);
}

void under_autocast(torch::Library& library) {
  library.impl("normmax_loss", float32_under_autocast<from_tensor>::call);
  library.impl("normmax_loss.Scalar", float32_under_autocast<from_scalar>::call);
}

}  // namespace

at::Tensor normmax_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                        int64_t dim, int64_t reduction, int64_t ignore_index,
                        double label_smoothing) {
  const LossRows rows =
      loss_rows(logits, target, alpha, dim, reduction, ignore_index, label_smoothing);
  const double least = alpha.numel() > 0 ? alpha.detach().min().item<double>() : 1;
  TORCH_CHECK(least >= 1, "normmax_loss: alpha must be at least 1, but it is ", least);
  const at::Tensor z = rows.logits.to(at::kDouble);
  const at::Tensor loss =
      z.numel() == 0 ? at::zeros(rows.target.sizes(), z.options())
                     : loss_of_rows(z, rows.target, rows.alpha.to(at::kDouble), label_smoothing);
  return reduce_loss(loss, rows.target, reduction, logits.scalar_type());
}

at::Tensor normmax_loss(const at::Tensor& logits, const at::Tensor& target, double alpha,
                        int64_t dim, int64_t reduction, int64_t ignore_index,
                        double label_smoothing) {
  return normmax_loss(logits, target, at::scalar_tensor(alpha, logits.options().dtype(at::kDouble)),
                      dim, reduction, ignore_index, label_smoothing);
}

TORCH_LIBRARY_FRAGMENT(filigree, library) {
  library.def(
      "normmax_loss(Tensor logits, Tensor target, Tensor alpha, int dim=-1, int reduction=1, "
      "int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
      from_tensor);
  library.def(
      "normmax_loss.Scalar(Tensor logits, Tensor target, float alpha, int dim=-1, "
      "int reduction=1, int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
      from_scalar);
}
TORCH_LIBRARY_IMPL(filigree, AutocastCPU, library) { under_autocast(library); }
TORCH_LIBRARY_IMPL(filigree, AutocastCUDA, library) { under_autocast(library); }

}  // namespace filigree
