// Keys of what mixes tokens in the layers of a transformer: latent attention, windows, state-space
// layers, and the pattern in which layers follow each other.
#pragma once

#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::workload {

// Reads them into `shape`, whose architecture and hidden width are there. False after a complaint.
bool read_mixers(config::Section& section, TransformerShape& shape);

// What must hold between them and the rest of the shape. False after a complaint.
bool check_mixers(config::Section& section, const TransformerShape& shape);

// Whether any layer attends, so that there are heads.
bool has_attention(const TransformerShape& shape);

std::vector<ParameterInfo> mixer_parameters();

}  // namespace tessera::workload
