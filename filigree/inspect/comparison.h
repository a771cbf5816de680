// Values with their confidence intervals, and differences between models on the same sentences.
#pragma once

#include <optional>

#include "filigree/inspect/inspection.h"

namespace filigree::inspect {

struct Estimate {
  double value, low, high;  ///< with the 95 % interval over sentences
};

/// A quantity of a layer.
Estimate estimate_of(const ModelInspection& model, AttentionBlock block, size_t layer,
                     Headline what);
/// The mean over the layers of a block.
Estimate estimate_of(const ModelInspection& model, AttentionBlock block, Headline what);

/// other − base, with both resampled alike.
Estimate difference_of(const ModelInspection& base, const ModelInspection& other,
                       AttentionBlock block, Headline what);

}  // namespace filigree::inspect
