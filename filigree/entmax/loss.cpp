#include "filigree/entmax/loss.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "filigree/entmax/autocast.h"
#include "filigree/entmax/loss_arguments.h"
#include "filigree/entmax/loss_operators.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using namespace entmax_operators;

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

void under_autocast(torch::Library& library) {
  library.impl("entmax_loss", float32_under_autocast<loss_tensor>::call);
  library.impl("entmax_loss.Scalar", float32_under_autocast<loss_scalar>::call);
}

}  // namespace

at::Tensor entmax_loss(const at::Tensor& logits, const at::Tensor& target, const at::Tensor& alpha,
                       int64_t dim, int64_t reduction, int64_t ignore_index,
                       double label_smoothing) {
  const LossRows rows =
      loss_rows(logits, target, alpha, dim, reduction, ignore_index, label_smoothing);
  const at::Tensor z = rows.logits.to(compute_type(logits.scalar_type()));
  const at::Tensor loss = std::get<0>(call_loss(z, rows.target, rows.alpha, label_smoothing,
                                                /*keep_p=*/false, /*with_alpha=*/false));
  return reduce_loss(loss, rows.target, reduction, logits.scalar_type());
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

TORCH_LIBRARY_IMPL(filigree, AutocastCPU, library) { under_autocast(library); }
TORCH_LIBRARY_IMPL(filigree, AutocastCUDA, library) { under_autocast(library); }

TORCH_LIBRARY_IMPL(filigree, Autograd, library) {
  library.impl("_entmax_loss", loss_autograd);
  library.impl("_entmax_loss_backward", loss_backward_autograd);
}

}  // namespace filigree
