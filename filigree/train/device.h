// The device that a training runs on.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "filigree/model/precision.h"

namespace filigree::train {

/// "cpu", "cuda" or "cuda:N". Throws UsageError on any other name.
at::Device parse_device(const std::string& name);

/// "float32", "bfloat16x3" or "bfloat16". Throws UsageError on any other name.
model::Precision parse_precision(const std::string& name);

/// The device of the worker that is the local_rank-th on its machine: with "cuda", the GPU of that
/// number. Throws Error, saying why, when this LibTorch or this machine does not have it, and when
/// the device does not multiply in `precision` by hardware.
at::Device require_device(const std::string& name, int local_rank, model::Precision precision);

/// What is worth saying about products of `precision` on this device; may be empty.
std::string precision_note(at::Device device, model::Precision precision);

}  // namespace filigree::train
