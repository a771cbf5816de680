// The budget map on tensors: p = argmax of ⟨p, z⟩ − ½‖p‖² over 0 ≤ p ≤ 1 with Σp = total, a
// differentiable choice of `total` entries. Also torch.ops.filigree.budget.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace filigree {

/// p_i = min(1, [z_i − τ]_+) with τ such that Σp = total. A total beyond the number of entries
/// that are not masked gives 1 to all of them, one below 0 counts as 0.
///
/// scores, dim, masks, NaN and types: as for entmax(); scores of +inf share the total. total: as
/// alpha there. Differentiable in scores and total. Computed in float64.
at::Tensor budget(const at::Tensor& scores, const at::Tensor& total, int64_t dim = -1);
at::Tensor budget(const at::Tensor& scores, double total, int64_t dim = -1);

}  // namespace filigree
