// How the right operand of a product lies in memory.
//
// Weights of few bits lie packed, with their scales and zero points, are moved so and lie so in the
// scratchpad. They become elements of the array's type at its edge, on the way in, which takes no
// time of its own: a row of weights enters in a cycle, however wide it was. Formats place scales
// differently (by columns, by groups of a column, beside or between the weights); here any part of
// the weights takes its share of the bytes of all, in whole bytes: sizes are rounded up, beginnings
// down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::npu {

class StoredWeights {
 public:
  // So many bytes for so many elements, at least one, in lowest terms. No more than
  // most_weight_bytes each, as cores have room for.
  StoredWeights(std::uint64_t bytes, std::uint64_t elements);
  // As they are in the array.
  static StoredWeights plain(Bytes element) { return {element.count(), 1}; }

  std::uint64_t bytes_of(Wide elements) const {
    return static_cast<std::uint64_t>((elements * bytes_ + elements_ - 1) / elements_);
  }
  std::uint64_t begin_of(std::uint64_t elements) const {
    return static_cast<std::uint64_t>(Wide{elements} * bytes_ / elements_);
  }
  // At most, where they are cut in parts, each in whole bytes.
  std::uint64_t bytes_in_parts(Wide elements, std::uint64_t parts) const {
    return bytes_of(elements) + (elements_ == 1 ? 0 : parts - 1);
  }
  // Elements that take so many bytes at least.
  std::uint64_t elements_in(std::uint64_t bytes) const {
    return static_cast<std::uint64_t>((Wide{bytes} * elements_ + bytes_ - 1) / bytes_);
  }
  friend bool operator==(const StoredWeights&, const StoredWeights&) = default;

 private:
  std::uint64_t bytes_;
  std::uint64_t elements_;
};

// Of one element with its share of scales, of the widest type [B].
inline constexpr std::uint64_t most_weight_bytes = 8;

// Names of types that numbers are stored in and not computed in, int2 to fp8, and the bits of one;
// 0: there is no such type.
std::vector<std::string> stored_type_names();
std::uint64_t bits_of_stored_type(std::string_view name);
// Numbers of so many bits, of which `group` share a scale of so many bytes; group 0: there are no
// scales. None where that takes more than most_weight_bytes each.
std::optional<StoredWeights> stored_in(std::uint64_t bits, std::uint64_t group, Bytes scale);

inline constexpr std::uint64_t longest_scale_group = 1 << 20;

// The mapping `key` of `type`, `group_size` and `scale`. None where it is absent, or after
// complaints.
std::optional<StoredWeights> read_stored_weights(config::Section& section,
                                                 std::string_view key = "weights");
// As of `key`.
std::vector<ParameterInfo> stored_weights_parameters(const std::string& key = "weights");

}  // namespace tessera::npu
