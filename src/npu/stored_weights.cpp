#include "tessera/npu/stored_weights.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"

namespace tessera::npu {
namespace {

constexpr std::array<std::pair<const char*, std::uint64_t>, 7> bits_of_types{
    {{"int2", 2}, {"int3", 3}, {"int4", 4}, {"fp4", 4}, {"fp6", 6}, {"int8", 8}, {"fp8", 8}}};

}  // namespace

std::vector<std::string> stored_type_names() {
  std::vector<std::string> names;
  for (const auto& [name, bits] : bits_of_types) {
    names.emplace_back(name);
  }
  return names;
}

std::uint64_t bits_of_stored_type(std::string_view name) {
  for (const auto& [known, bits] : bits_of_types) {
    if (name == known) {
      return bits;
    }
  }
  return 0;
}

std::optional<StoredWeights> stored_in(std::uint64_t bits, std::uint64_t group, Bytes scale) {
  constexpr std::uint64_t byte = 8;  // [bit]
  const std::uint64_t elements = byte * std::max<std::uint64_t>(1, group);
  const std::uint64_t bytes = group == 0 ? bits : bits * group + byte * scale.count();
  if (bits == 0 || bytes > most_weight_bytes * elements) {
    return std::nullopt;
  }
  return StoredWeights(bytes, elements);
}

StoredWeights::StoredWeights(std::uint64_t bytes, std::uint64_t elements) {
  ensure(bytes > 0 && elements > 0 && bytes <= Wide{most_weight_bytes} * elements,
         "weights take some bytes, and no more than the widest type");
  const std::uint64_t common = std::gcd(bytes, elements);
  bytes_ = bytes / common;
  elements_ = elements / common;
}

namespace {

struct WeightKeys {
  static const WeightKeys& all();

  config::NameKey type = config::NameKey("weights.type", stored_type_names, "data_type",
                                         "type in which weights are stored: int4, fp8 and so on")
                             .derived();
  config::OptionalKey<std::uint64_t> group{"weights.group_size", "none",
                                           "weights that share a scale; none: scales are not "
                                           "counted",
                                           config::between<std::uint64_t>(1, longest_scale_group)};
  config::Key<Bytes> scale{"weights.scale", Bytes(2),
                           "size of the scale of a group, including its zero point",
                           config::between(Bytes(1), Bytes(1 << 20))};
};

// Made when asked for: operators register with their rows.
const WeightKeys& WeightKeys::all() {
  static const WeightKeys keys;
  return keys;
}

}  // namespace

std::optional<StoredWeights> read_stored_weights(config::Section& section, std::string_view key) {
  if (!section.has(key)) {
    return std::nullopt;
  }
  config::Section weights = section.section(key);
  const WeightKeys& keys = WeightKeys::all();
  const std::uint64_t bits = bits_of_stored_type(keys.type.read(weights, ""));  // must be given
  const std::optional<std::uint64_t> group = keys.group.read(weights);
  if (!group) {
    if (weights.has("scale")) {
      weights.raw("scale");
      weights.error("scale", "is of a group of weights, whose 'group_size' is not given");
    }
    return stored_in(bits, 0, Bytes());
  }
  const auto stored = stored_in(bits, *group, keys.scale.read(weights));
  if (bits > 0 && !stored) {
    weights.error("scale", "weights with their scales take more than " +
                               to_string(Bytes(most_weight_bytes)) + " each");
  }
  return stored;
}

std::vector<ParameterInfo> stored_weights_parameters(const std::string& key) {
  const WeightKeys& keys = WeightKeys::all();
  std::vector<ParameterInfo> all{keys.type, keys.group, keys.scale};
  for (ParameterInfo& one : all) {
    one.name = key + one.name.substr(one.name.rfind('.'));
  }
  return all;
}

}  // namespace tessera::npu
