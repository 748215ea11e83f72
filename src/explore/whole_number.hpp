// Whole numbers of configurations that are looked at without being read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/config/document.hpp"

namespace tessera::explore {

// As a key takes it ("8", "+8", "8e0"); none where it is no whole number, or below 0.
inline std::optional<std::uint64_t> whole_number(const std::string& text) {
  std::string problem;
  const std::optional<std::int64_t> number = config::parse_as<std::int64_t>(text, problem);
  return number && *number >= 0 ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

}  // namespace tessera::explore
