// Adapters of a tenant's model, which its requests use.
#pragma once

#include <cstdint>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::sim {

struct ServedAdapters {
  serving::AdapterDraw draw;
  std::uint32_t rank = 0;
  std::uint32_t loaded = 0;  // at a time, on each NPU
};

// For `tessera list`.
std::vector<ParameterInfo> adapter_parameters();

// The section `adapters` of a tenant; zeros: it has none.
ServedAdapters read_adapters(config::Section& tenant, bool of_language,
                             const executor::ServingWork& work);

}  // namespace tessera::sim
