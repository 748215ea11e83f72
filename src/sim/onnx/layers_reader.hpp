// Reads the workload `onnx` with a `strategy` beside it, which cuts the model over tiles.
#pragma once

#include <memory>

#include "tessera/sim/job.hpp"

namespace tessera::sim {

std::unique_ptr<JobReader> make_layers_reader(const JobSetup& setup);

}  // namespace tessera::sim
