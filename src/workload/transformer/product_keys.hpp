// Keys of what the products of a transformer's layers take.
#pragma once

#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/number_format.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::workload {

// Their inputs, beside a workload of `data_type`.
NumberFormat read_products(config::Section& section, DataType data_type);
// Of no effect with what is said.
void leave_products(config::Section& section, std::string_view with);

std::vector<ParameterInfo> product_parameters();

}  // namespace tessera::workload
