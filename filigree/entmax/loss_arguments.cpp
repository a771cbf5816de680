#include "filigree/entmax/loss_arguments.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/Reduction.h>

#include <vector>

#include "filigree/entmax/operators.h"

namespace filigree::entmax_operators {
namespace {

std::vector<int64_t> without(at::IntArrayRef sizes, int64_t dim) {
  std::vector<int64_t> rest = sizes.vec();
  if (!rest.empty()) rest.erase(rest.begin() + dim);
  return rest;
}

void check_shapes(const at::Tensor& logits, const at::Tensor& target, int64_t dim) {
  const std::vector<int64_t> expected = without(logits.sizes(), dim);
  if (target.sizes() == at::IntArrayRef(expected)) return;
  const bool fits_dimension_1 =
      logits.dim() > 2 && dim != 1 && target.sizes() == at::IntArrayRef(without(logits.sizes(), 1));
  TORCH_CHECK(false, "entmax_loss: target of shape ", target.sizes(),
              " does not fit logits of shape ", logits.sizes(),
              " with the classes along dimension ", dim, ": it must have shape ",
              at::IntArrayRef(expected),
              fits_dimension_1 ? "; with the classes along dimension 1, as in CrossEntropyLoss, "
                                 "pass dim=1"
                               : "");
}

void check_arguments(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                     int64_t dim, int64_t reduction, double label_smoothing) {
  TORCH_CHECK(at::isFloatingType(logits.scalar_type()),
              "entmax_loss: logits must be floating point, but they are ", logits.scalar_type());
  TORCH_CHECK(logits.dim() > 0, "entmax_loss: logits need a dimension of classes");
  TORCH_CHECK(at::isIntegralType(target.scalar_type(), /*includeBool=*/false),
              "entmax_loss: target must hold class indices, integers, but it is ",
              target.scalar_type());
  TORCH_CHECK(at::isFloatingType(alpha.scalar_type()),
              "entmax_loss: alpha must be floating point, but it is ", alpha.scalar_type());
  TORCH_CHECK(reduction >= at::Reduction::None && reduction <= at::Reduction::Sum,
              "entmax_loss: reduction must be 0 (none), 1 (mean) or 2 (sum), but it is ",
              reduction);
  TORCH_CHECK(label_smoothing >= 0 && label_smoothing <= 1,
              "entmax_loss: label_smoothing must be in [0, 1], but it is ", label_smoothing);
  check_shapes(logits, target, dim);
}

// Classes of rows, −1 for those to ignore. Throws on others outside [0, classes).
at::Tensor classes_of(const at::Tensor& target, int64_t ignore_index, int64_t classes) {
  const at::Tensor wide = target.detach().to(at::kLong);
  const at::Tensor ignored = wide == ignore_index;
  const at::Tensor bad = wide.lt(0).logical_or(wide >= classes).logical_and(ignored.logical_not());
  if (!wide.is_meta() && bad.any().item<bool>()) {
    TORCH_CHECK_INDEX(false, "entmax_loss: target ",
                      wide.masked_select(bad).select(0, 0).item<int64_t>(), " is outside the ",
                      classes, " classes and is not ignore_index ", ignore_index);
  }
  return wide.masked_fill(ignored, -1);
}

// α as the operators take it: without dimensions, or with those of the logits and the classes'
// last.
at::Tensor alpha_of_rows(const at::Tensor& alpha, const at::Tensor& logits, int64_t dim) {
  const at::Tensor aligned = align_alpha(alpha, logits, dim);
  if (aligned.numel() == 1) return aligned.reshape({});
  std::vector<int64_t> shape(static_cast<size_t>(logits.dim() - aligned.dim()), 1);
  shape.insert(shape.end(), aligned.sizes().begin(), aligned.sizes().end());
  return aligned.reshape(shape).movedim(dim, -1);
}

}  // namespace

LossRows loss_rows(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                   int64_t dim, int64_t reduction, int64_t ignore_index, double label_smoothing) {
  dim = at::maybe_wrap_dim(dim, logits.dim());
  check_arguments(logits, target, alpha, dim, reduction, label_smoothing);
  return {logits.movedim(dim, -1), classes_of(target, ignore_index, logits.size(dim)),
          alpha_of_rows(alpha, logits, dim)};
}

at::Tensor reduce_loss(const at::Tensor& loss, const at::Tensor& target, int64_t reduction,
                       at::ScalarType type) {
  if (reduction == at::Reduction::None) return loss.to(type);
  at::Tensor sum = loss.sum();
  if (reduction == at::Reduction::Mean) sum = sum / (target >= 0).sum();
  return sum.to(type);
}

}  // namespace filigree::entmax_operators
