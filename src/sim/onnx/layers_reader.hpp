// Reads the workload `onnx` with a `strategy` beside it, which cuts the model over tiles.
#pragma once

#include <memory>
#include <optional>

#include "tessera/sim/job.hpp"

namespace tessera::sim {

std::unique_ptr<JobReader> make_layers_reader(const JobSetup& setup);

// The layers alone: WorkKind::layers.
std::optional<workload::Workload> read_layers_of_model(config::Section& workload);

}  // namespace tessera::sim
