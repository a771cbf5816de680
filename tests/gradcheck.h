// Gradients of differentiable tensor functions against central differences, in float64.
#pragma once

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <functional>
#include <vector>

namespace filigree {

using TensorFunction = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

/// The gradients of ⟨f(inputs), cotangent⟩ with respect to every input, as a graph when the inputs
/// are part of one. Inputs that f does not use have a gradient of 0.
inline std::vector<at::Tensor> gradients_of(const TensorFunction& f,
                                            const std::vector<at::Tensor>& inputs,
                                            const at::Tensor& cotangent) {
  const at::AutoGradMode enabled(true);
  std::vector<at::Tensor> leaves;
  for (const at::Tensor& input : inputs) {
    leaves.push_back(input.requires_grad() ? input : input.detach().requires_grad_());
  }
  const at::Tensor value = (f(leaves) * cotangent).sum();
  std::vector<at::Tensor> gradients = torch::autograd::grad(
      {value}, leaves, {}, /*retain_graph=*/true, /*create_graph=*/true, /*allow_unused=*/true);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(leaves[i]);
  }
  return gradients;
}

/// Compares the gradients of f, contracted with a fixed random cotangent, with (f(x + step) −
/// f(x − step)) / (2 step) for every entry of every input (float64). tolerance is relative to
/// max(1, largest gradient of that input).
inline void expect_gradients(const TensorFunction& f, const std::vector<at::Tensor>& inputs,
                             double step = 1e-6, double tolerance = 1e-7) {
  at::Tensor cotangent;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor value = f(inputs).detach();
    // Fixed numbers without structure, whatever the state of the random generator.
    cotangent = at::sin(at::arange(value.numel(), value.options()) * 7 + 1).reshape(value.sizes());
  }
  const std::vector<at::Tensor> gradients = gradients_of(f, inputs, cotangent);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const at::Tensor analytic = gradients[i].detach().contiguous();
    at::Tensor numeric = at::zeros_like(analytic);
    std::vector<at::Tensor> moved = inputs;
    const auto value_at = [&](int64_t entry, double offset) {
      const at::NoGradGuard no_grad;
      moved[i] = inputs[i].detach().clone(at::MemoryFormat::Contiguous);
      moved[i].data_ptr<double>()[entry] += offset;
      return (f(moved).detach() * cotangent).sum().item<double>();
    };
    for (int64_t entry = 0; entry < analytic.numel(); ++entry) {
      numeric.data_ptr<double>()[entry] =
          (value_at(entry, step) - value_at(entry, -step)) / (2 * step);
    }
    if (analytic.numel() == 0) continue;
    const double scale = std::max(1.0, numeric.abs().max().item<double>());
    const double error = (analytic - numeric).abs().max().item<double>() / scale;
    EXPECT_LE(error, tolerance) << "gradient of input " << i << ":\n"
                                << analytic << "\nby differences:\n"
                                << numeric;
  }
}

/// The same for the gradients of f themselves: what a backward through the backward computes.
inline void expect_second_gradients(const TensorFunction& f, const std::vector<at::Tensor>& inputs,
                                    double step = 1e-6, double tolerance = 1e-6) {
  at::Tensor cotangent;
  {
    const at::NoGradGuard no_grad;
    const at::Tensor value = f(inputs).detach();
    cotangent = at::cos(at::arange(value.numel(), value.options()) * 5 + 2).reshape(value.sizes());
  }
  // The cotangent is an input too: the second derivative of a backward in it must be right as well.
  std::vector<at::Tensor> all = inputs;
  all.push_back(cotangent);
  const TensorFunction gradients = [&](const std::vector<at::Tensor>& x) {
    const std::vector<at::Tensor> first(x.begin(), x.end() - 1);
    std::vector<at::Tensor> flat;
    for (const at::Tensor& g : gradients_of(f, first, x.back())) flat.push_back(g.reshape(-1));
    return at::cat(flat);
  };
  expect_gradients(gradients, all, step, tolerance);
}

}  // namespace filigree
