#include "read_array.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace tessera::compute {
namespace {

constexpr const char* array_name = "array";

}  // namespace

bool is_empty_list(config::Section& section, std::string_view key) {
  const config::Value value = section.raw(key);
  return value.kind == config::Value::Kind::sequence && value.items.empty();
}

std::optional<MatrixShape> read_array(config::Section& section) {
  const bool empty = is_empty_list(section, array_name);
  const auto sides = section.get_list<std::int64_t>(array_name);
  constexpr std::int64_t longest_side = 1 << 20;
  if (sides.size() == 2 && std::min(sides[0], sides[1]) >= 1 &&
      std::max(sides[0], sides[1]) <= longest_side) {
    return MatrixShape{static_cast<std::uint64_t>(sides[0]), static_cast<std::uint64_t>(sides[1])};
  }
  if (empty || !sides.empty()) {  // else the section has complained
    section.error(array_name, "must be two numbers from 1 to 1048576, [rows, columns]");
  }
  return std::nullopt;
}

ParameterInfo array_parameter(std::string_view absent, std::string_view help) {
  return config::OtherKey(array_name, "shape", absent, help);
}

const config::Key<FlopRate>& vector_peak_key() {
  static const config::Key<FlopRate> key{
      "vector_peak", FlopRate(), "rate of vector work; 0 FLOP/s: the tile's peak of the data type"};
  return key;
}

}  // namespace tessera::compute
