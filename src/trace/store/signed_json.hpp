// JSON files that hold a CRC-32C of themselves, so that a damaged one is noticed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tessera::trace {

// Keeps the order of keys.
using SignedJson = nlohmann::ordered_json;

// Eight digits.
std::string hexadecimal(std::uint32_t value);

// Whether a name stays inside its folder: it may come from anywhere.
bool is_inside(const std::string& name);

// Puts `file_type` and the format version before the members and `crc32c` behind them, and writes
// the file aside and renames it. Throws IoError.
void write_signed(const std::string& path, const std::string& file_type, const SignedJson& members);

// Reads such a file. Throws IoError when it cannot be read or is damaged or another file; and
// ConfigError when its format has another major version.
SignedJson read_signed(const std::string& path, const std::string& file_type);

// CRC-32C of all but `crc32c`, in digits.
std::string crc_of(SignedJson json);

}  // namespace tessera::trace
