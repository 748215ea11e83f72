// Classes of a tenant's requests.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/serving/request_class.hpp"

namespace tessera::sim {

// For `tessera list`.
std::vector<ParameterInfo> class_parameters();

// The list `classes` of a tenant; empty: it has none, or after complaints.
std::vector<serving::RequestClass> read_classes(config::Section& tenant, bool of_language);

// Targets of its classes, once those of the tenant are known, and whether batches go by priority.
void read_class_settings(config::Section& tenant, const std::vector<serving::RequestClass>& classes,
                         executor::ServiceSettings& served);

}  // namespace tessera::sim
