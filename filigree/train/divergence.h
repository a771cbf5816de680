// What happens when a training diverges: it goes back, and on more slowly.
#pragma once

#include "filigree/model/transformer.h"
#include "filigree/train/checkpoint.h"
#include "filigree/train/optimizer.h"
#include "filigree/train/options.h"

namespace filigree::train {

/// After failed.bad_steps updates in a row that were not finite: reads the newest checkpoint from
/// before the last update that was carried out (which may be what broke the weights) into the model
/// and the optimizer, removes the later ones, and returns where to go on from, at half the learning
/// rate. Throws Error with the reason when there is no such checkpoint, or --max-rollbacks is used
/// up.
Progress roll_back(const TrainOptions& options, const Progress& failed,
                   const model::Transformer& model, OptimizerState& optimizer);

}  // namespace filigree::train
