// The key `array` of compute models.
#pragma once

#include <optional>

#include "tessera/compute/matrix_shape.hpp"
#include "tessera/config/document.hpp"

namespace tessera::compute {

bool is_empty_list(config::Section& section, const char* key);

// [rows, columns]; nothing after a complaint.
std::optional<MatrixShape> read_array(config::Section& section);

}  // namespace tessera::compute
