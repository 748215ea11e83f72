#include "tessera/npu/stored_weights.hpp"

#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::npu {
namespace {

constexpr std::array<std::pair<const char*, std::uint64_t>, 7> bits_of_types{
    {{"int2", 2}, {"int3", 3}, {"int4", 4}, {"fp4", 4}, {"fp6", 6}, {"int8", 8}, {"fp8", 8}}};

std::vector<std::string> type_names() {
  std::vector<std::string> names;
  for (const auto& [name, bits] : bits_of_types) {
    names.emplace_back(name);
  }
  return names;
}

std::uint64_t bits_of(const std::string& name) {
  for (const auto& [known, bits] : bits_of_types) {
    if (name == known) {
      return bits;
    }
  }
  return 0;
}

}  // namespace

StoredWeights::StoredWeights(std::uint64_t bytes, std::uint64_t elements) {
  ensure(bytes > 0 && elements > 0 && bytes <= Wide{most_weight_bytes} * elements,
         "weights take some bytes, and no more than the widest type");
  const std::uint64_t common = std::gcd(bytes, elements);
  bytes_ = bytes / common;
  elements_ = elements / common;
}

std::optional<StoredWeights> read_stored_weights(config::Section& section) {
  constexpr std::int64_t longest_group = 1 << 20;
  constexpr std::uint64_t byte = 8;  // [bit]
  if (!section.has("weights")) {
    return std::nullopt;
  }
  config::Section weights = section.section("weights");
  const std::uint64_t bits = bits_of(weights.get_name("type", type_names()));
  const auto group = weights.get_optional<std::int64_t>(
      "group_size", config::between<std::int64_t>(1, longest_group));
  if (!group) {
    if (weights.has("scale")) {
      weights.raw("scale");
      weights.error("scale", "is of a group of weights, whose 'group_size' is not given");
    }
    return bits == 0 ? std::nullopt : std::optional(StoredWeights(bits, byte));
  }
  const Bytes scale =
      weights.get_or<Bytes>("scale", Bytes(2), config::between(Bytes(1), Bytes(1 << 20)));
  const std::uint64_t elements = byte * static_cast<std::uint64_t>(*group);
  const std::uint64_t bytes = bits * static_cast<std::uint64_t>(*group) + byte * scale.count();
  if (bytes > most_weight_bytes * elements) {
    weights.error("scale", "weights with their scales take more than " +
                               to_string(Bytes(most_weight_bytes)) + " each");
    return std::nullopt;
  }
  return bits == 0 ? std::nullopt : std::optional(StoredWeights(bytes, elements));
}

std::vector<ParameterInfo> stored_weights_parameters() {
  return {{"weights.type", "", "data_type", "of weights in memory: int4, fp8 and so on"},
          {"weights.group_size", "", "none", "weights that share a scale; none: not counted"},
          {"weights.scale", "B", "2 B", "of a group, with its zero point"}};
}

}  // namespace tessera::npu
