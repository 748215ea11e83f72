// Reads the models that requests are served by, of NPU cores and of tiles.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::sim {

// Of a tenant whose requests and batches were read, by tiles of these kinds; both note what type of
// numbers the model computes in. Null after complaints. `longest`: tokens of a sequence.
std::unique_ptr<serving::ServedModel> read_language_model(
    config::Section& tenant, executor::ServiceSettings& made, const executor::ServingWork& work,
    const std::vector<const machine::Tile*>& tiles, std::uint32_t& longest);
std::unique_ptr<serving::ServedModel> read_onnx(config::Section& tenant,
                                                executor::ServiceSettings& made,
                                                const executor::ServingWork& work,
                                                const std::vector<const machine::Tile*>& tiles);

}  // namespace tessera::sim
