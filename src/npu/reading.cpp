#include "reading.hpp"

#include <utility>

#include "tessera/core/wide.hpp"
#include "tessera/npu/stored_weights.hpp"

namespace tessera::npu {
namespace {

constexpr std::int64_t longest = 1LL << 32;
// Elements of an operand or multiplications of an operator.
constexpr std::uint64_t most_work = 1ULL << 58;

}  // namespace

std::uint64_t read_extent(config::Section& section, const char* key) {
  return static_cast<std::uint64_t>(
      section.get<std::int64_t>(key, config::between<std::int64_t>(1, longest)));
}

std::uint64_t read_extent_or(config::Section& section, const char* key, std::uint64_t usual) {
  return static_cast<std::uint64_t>(section.get_or<std::int64_t>(
      key, static_cast<std::int64_t>(usual), config::between<std::int64_t>(1, longest)));
}

bool is_countable(config::Section& section, std::initializer_list<std::uint64_t> extents) {
  Wide product = 1;
  for (const std::uint64_t extent : extents) {
    if (extent == 0) {
      return false;  // the section has complained
    }
    product *= extent;
    if (product > most_work) {
      section.error("", "the operator is too large to be counted");
      return false;
    }
  }
  return true;
}

std::optional<VectorWork> read_then(config::Section& section) {
  std::vector<std::string> names = vector_names();
  names.emplace_back("none");
  const std::string name = section.get_name("then", names, "none");
  return name.empty() || name == "none" ? std::nullopt : std::optional(vector_work(name));
}

std::vector<ParameterInfo> with_stored_weights(std::vector<ParameterInfo> own) {
  for (ParameterInfo& one : stored_weights_parameters()) {
    own.push_back(std::move(one));
  }
  return own;
}

}  // namespace tessera::npu
