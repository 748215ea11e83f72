#include "reading.hpp"

#include <utility>

#include "tessera/core/wide.hpp"
#include "tessera/npu/stored_weights.hpp"

namespace tessera::npu {
namespace {

constexpr std::uint64_t longest = 1ULL << 32;
// Elements of an operand or multiplications of an operator.
constexpr std::uint64_t most_work = 1ULL << 58;

config::Range<std::uint64_t> extents() {
  return config::between<std::uint64_t>(1, longest);
}

std::vector<std::string> names_of_then() {
  std::vector<std::string> names = vector_names();
  names.emplace_back("none");
  return names;
}

const config::NameKey& then_key() {
  static const config::NameKey key{"then", names_of_then, "none",
                                   "vector operation applied to the output: relu, gelu, …"};
  return key;
}

}  // namespace

config::RequiredKey<std::uint64_t> extent_key(std::string_view name, std::string_view help) {
  return {name, help, extents()};
}

config::Key<std::uint64_t> extent_key(std::string_view name, std::uint64_t usual,
                                      std::string_view help) {
  return {name, usual, help, extents()};
}

config::DerivedKey<std::uint64_t> derived_extent_key(std::string_view name, std::string_view words,
                                                     std::string_view help) {
  return {name, words, help, extents()};
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
  const std::string name = then_key().read(section);
  return name.empty() || name == "none" ? std::nullopt : std::optional(vector_work(name));
}

ParameterInfo then_parameter() {
  return then_key();
}

std::vector<ParameterInfo> with_stored_weights(std::vector<ParameterInfo> own) {
  for (ParameterInfo& one : stored_weights_parameters()) {
    own.push_back(std::move(one));
  }
  return own;
}

}  // namespace tessera::npu
