#include "filigree/entmax/loss.h"

#include <ATen/ATen.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <vector>

#include "filigree/entmax/loss_operators.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using namespace entmax_operators;

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

at::Tensor loss_tensor(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                       int64_t dim, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
  return entmax_loss(logits, target, alpha, dim, reduction, ignore_index, label_smoothing);
}

at::Tensor loss_scalar(const at::Tensor& logits, const at::Tensor& target, double alpha,
                       int64_t dim, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
  return entmax_loss(logits, target, alpha, dim, reduction, ignore_index, label_smoothing);
}

}  // namespace

at::Tensor entmax_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                       int64_t dim, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
  dim = at::maybe_wrap_dim(dim, logits.dim());
  check_arguments(logits, target, alpha, dim, reduction, label_smoothing);
  const at::Tensor classes = classes_of(target, ignore_index, logits.size(dim));
  const at::Tensor rows = logits.movedim(dim, -1).to(compute_type(logits.scalar_type()));
  const at::Tensor loss =
      std::get<0>(call_loss(rows, classes, alpha_of_rows(alpha, logits, dim), label_smoothing,
                            /*keep_p=*/false, /*with_alpha=*/false));
  if (reduction == at::Reduction::None) return loss.to(logits.scalar_type());
  at::Tensor sum = loss.sum();
  if (reduction == at::Reduction::Mean) sum = sum / (classes >= 0).sum();
  return sum.to(logits.scalar_type());
}

at::Tensor entmax_loss(const at::Tensor& logits, const at::Tensor& target, double alpha,
                       int64_t dim, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
  return entmax_loss(logits, target, at::scalar_tensor(alpha, logits.options().dtype(at::kDouble)),
                     dim, reduction, ignore_index, label_smoothing);
}

namespace entmax_operators {

LossOutputs call_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                      double label_smoothing, bool keep_p, bool with_alpha) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("filigree::_entmax_loss", "")
                             .typed<decltype(loss_cpu)>();
  return op.call(logits, target, alpha, label_smoothing, keep_p, with_alpha);
}

at::Tensor call_loss_backward(const at::Tensor& dloss, const at::Tensor& p,
                              const at::Tensor& target, double label_smoothing) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("filigree::_entmax_loss_backward", "")
                             .typed<decltype(loss_backward_cpu)>();
  return op.call(dloss, p, target, label_smoothing);
}

}  // namespace entmax_operators

TORCH_LIBRARY_FRAGMENT(filigree, library) {
  library.def(
      "entmax_loss(Tensor logits, Tensor target, Tensor alpha, int dim=-1, int reduction=1, "
      "int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
      loss_tensor);
  library.def(
      "entmax_loss.Scalar(Tensor logits, Tensor target, float alpha, int dim=-1, int reduction=1, "
      "int ignore_index=-100, float label_smoothing=0.0) -> Tensor",
      loss_scalar);
  library.def(
      "_entmax_loss(Tensor logits, Tensor target, Tensor alpha, float label_smoothing, "
      "bool keep_p, bool with_alpha) -> (Tensor, Tensor, Tensor)");
  library.def(
      "_entmax_loss_backward(Tensor dloss, Tensor p, Tensor target, float label_smoothing) "
      "-> Tensor");
}

TORCH_LIBRARY_IMPL(filigree, CPU, library) {
  library.impl("_entmax_loss", loss_cpu);
  library.impl("_entmax_loss_backward", loss_backward_cpu);
}

TORCH_LIBRARY_IMPL(filigree, CompositeExplicitAutograd, library) {
  library.impl("_entmax_loss", loss_composite);
  library.impl("_entmax_loss_backward", loss_backward_composite);
}

TORCH_LIBRARY_IMPL(filigree, Autograd, library) {
  library.impl("_entmax_loss", loss_autograd);
  library.impl("_entmax_loss_backward", loss_backward_autograd);
}

}  // namespace filigree
