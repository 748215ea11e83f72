#include "read_array.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::compute {

bool is_empty_list(config::Section& section, const char* key) {
  const config::Value value = section.raw(key);
  return value.kind == config::Value::Kind::sequence && value.items.empty();
}

std::optional<MatrixShape> read_array(config::Section& section) {
  const bool empty = is_empty_list(section, "array");
  const auto sides = section.get_list<std::int64_t>("array");
  constexpr std::int64_t longest_side = 1 << 20;
  if (sides.size() == 2 && std::min(sides[0], sides[1]) >= 1 &&
      std::max(sides[0], sides[1]) <= longest_side) {
    return MatrixShape{static_cast<std::uint64_t>(sides[0]), static_cast<std::uint64_t>(sides[1])};
  }
  if (empty || !sides.empty()) {  // else the section has complained
    section.error("array", "must be two numbers from 1 on, [rows, columns]");
  }
  return std::nullopt;
}

}  // namespace tessera::compute
