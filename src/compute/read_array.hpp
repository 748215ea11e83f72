// Keys that compute models share.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/compute/matrix_shape.hpp"
#include "tessera/config/document.hpp"
#include "tessera/config/key.hpp"

namespace tessera::compute {

bool is_empty_list(config::Section& section, std::string_view key);

// Key `array`: [rows, columns]; nothing after a complaint.
std::optional<MatrixShape> read_array(config::Section& section);
// Its row; `absent` as of config::OtherKey.
ParameterInfo array_parameter(std::string_view absent, std::string_view help);

// Rate of vector work; 0: the tile's peak of the data type.
const config::Key<FlopRate>& vector_peak_key();

}  // namespace tessera::compute
