// What signed JSON is made of: sums in digits, names of files.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/trace/store/json.hpp"

namespace tessera::trace {

// Eight digits.
std::string hexadecimal(std::uint32_t value);

// Whether a name stays inside its folder: it may come from anywhere.
bool is_inside(const std::string& name);

// CRC-32C of all but `crc32c`, in digits.
std::string crc_of(Json json);

}  // namespace tessera::trace
