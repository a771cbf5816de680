#include "filigree/entmax/entmax.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include "filigree/entmax/autocast.h"
#include "filigree/entmax/composite.h"
#include "filigree/entmax/operators.h"

namespace filigree {
namespace {

using namespace entmax_operators;

at::Tensor scalar_alpha(double alpha) {
  // On the CPU whatever the device of the scores: there it is known without waiting for a device,
  // and not every device has float64.
  return at::scalar_tensor(alpha, at::dtype(at::kDouble));
}

at::Tensor entmax_scalar(const at::Tensor& scores, double alpha, int64_t dim) {
  return entmax(scores, alpha, dim);
}

Outputs entmax_with_threshold_scalar(const at::Tensor& scores, double alpha, int64_t dim) {
  return entmax_with_threshold(scores, alpha, dim);
}

at::Tensor entmax_tensor(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  return entmax(scores, alpha, dim);
}

}  // namespace

at::Tensor entmax(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  return std::get<0>(call_forward(scores, alpha, dim));
}

at::Tensor entmax(const at::Tensor& scores, double alpha, int64_t dim) {
  return entmax(scores, scalar_alpha(alpha), dim);
}

Outputs entmax_with_threshold(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  return call_forward(scores, alpha, dim);
}

Outputs entmax_with_threshold(const at::Tensor& scores, double alpha, int64_t dim) {
  return entmax_with_threshold(scores, scalar_alpha(alpha), dim);
}

namespace entmax_operators {

Outputs call_forward(const at::Tensor& scores, const at::Tensor& alpha, int64_t dim) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("filigree::entmax_with_threshold", "")
                             .typed<decltype(forward_cpu)>();
  return op.call(scores, alpha, dim);
}

std::tuple<at::Tensor, at::Tensor> call_backward(const at::Tensor& p, const at::Tensor& dp,
                                                 const at::Tensor& alpha, int64_t dim,
                                                 bool with_alpha) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("filigree::_entmax_backward", "")
                             .typed<decltype(backward_cpu)>();
  return op.call(p, dp, alpha, dim, with_alpha);
}

}  // namespace entmax_operators

// One operator carries the work; the others are written in terms of it.
TORCH_LIBRARY(filigree, library) {
  library.def("entmax(Tensor scores, Tensor alpha, int dim=-1) -> Tensor", entmax_tensor);
  library.def("entmax.Scalar(Tensor scores, float alpha, int dim=-1) -> Tensor", entmax_scalar);
  library.def(
      "entmax_with_threshold(Tensor scores, Tensor alpha, int dim=-1) -> (Tensor, Tensor, Tensor)");
  library.def(
      "entmax_with_threshold.Scalar(Tensor scores, float alpha, int dim=-1) "
      "-> (Tensor, Tensor, Tensor)",
      entmax_with_threshold_scalar);
  library.def(
      "_entmax_backward(Tensor p, Tensor dp, Tensor alpha, int dim, bool with_alpha) "
      "-> (Tensor, Tensor)");
}

// Every device that has no entry of its own below takes this one.
TORCH_LIBRARY_IMPL(filigree, CompositeExplicitAutograd, library) {
  library.impl("entmax_with_threshold", forward_composite);
  library.impl("_entmax_backward", backward_composite);
}

TORCH_LIBRARY_IMPL(filigree, Meta, library) {
  library.impl("entmax_with_threshold", forward_meta);
  library.impl("_entmax_backward", backward_meta);
}

TORCH_LIBRARY_IMPL(filigree, CPU, library) {
  library.impl("entmax_with_threshold", forward_cpu);
  library.impl("_entmax_backward", backward_cpu);
}

TORCH_LIBRARY_IMPL(filigree, AutocastCPU, library) {
  library.impl("entmax_with_threshold", float32_under_autocast<call_forward>::call);
}

TORCH_LIBRARY_IMPL(filigree, AutocastCUDA, library) {
  library.impl("entmax_with_threshold", float32_under_autocast<call_forward>::call);
}

TORCH_LIBRARY_IMPL(filigree, Autograd, library) {
  library.impl("entmax_with_threshold", forward_autograd);
  library.impl("_entmax_backward", backward_autograd);
}

}  // namespace filigree
