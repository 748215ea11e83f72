// Number formats of tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/units.hpp"

namespace tessera {

// `mxfp8` is fp8 in blocks of 32 elements with a scale each, which nothing but inputs of products
// and what is sent has: Open Compute Project, "OCP Microscaling Formats (MX) Specification",
// version 1.0, 2023, sections 5.1 and 5.2.
enum class DataType : std::uint8_t { fp64, fp32, tf32, fp16, bf16, fp8, int8, mxfp8 };

// "fp16" and so on; all of them in declaration order.
std::string to_string(DataType type);
// Of elements by themselves; and with those of blocks, as products take them.
std::vector<std::string> data_type_names();
std::vector<std::string> product_type_names();
std::optional<DataType> data_type_from(std::string_view name);

// Storage of one element; tf32 is stored in four bytes. Scales of blocks are not counted: see
// NumberFormat.
Bytes element_size(DataType type);

// What the elements of its blocks are; of others the type itself. Where a machine says nothing of a
// type of blocks it computes as with its elements.
DataType element_type(DataType type);

}  // namespace tessera
