// Sums over the sequences of a batch (StepSizes), of all units together.
#pragma once

#include "layers/shapes.hpp"
#include "tessera/serving/served_model.hpp"
#include "tessera/serving/step_sizes.hpp"

namespace tessera::serving {

// Where attention is `flash` and `causal`, half of what a prompt's new tokens look at among
// themselves is left out, and of a window exactly what its mask leaves.
StepSizes batch_sizes(const LayerShapes& shapes, const Batch& batch);

}  // namespace tessera::serving
