// Number formats of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/units.hpp"

namespace tessera {

enum class DataType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8 };

// "fp16" and so on; all of them in declaration order.
std::string to_string(DataType type);
std::vector<std::string> data_type_names();
std::optional<DataType> data_type_from(std::string_view name);

// Storage of one element; tf32 is stored in four bytes.
Bytes element_size(DataType type);

}  // namespace tessera
