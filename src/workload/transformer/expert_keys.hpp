// Keys of the experts of a transformer.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/workload/transformer/transformer.hpp"

namespace tessera::workload {

// Reads the section `experts`; `ffn`: the width of an MLP. Nothing after a complaint.
std::optional<ExpertShape> read_experts(config::Section section, std::uint64_t ffn);

std::vector<ParameterInfo> expert_parameters();

}  // namespace tessera::workload
