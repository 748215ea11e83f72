#include "tessera/machine/macs_per_pe.hpp"

#include <algorithm>
#include <limits>

#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::machine {
namespace {

const config::OtherKey& macs_key() {
  static const config::OtherKey key{
      "macs_per_pe", "mapping", "1 each",
      "multiply-accumulates per cycle of a processing element, by data type, e.g. {int8: 2}"};
  return key;
}

}  // namespace

FlopRate array_rate(std::uint64_t elements, std::uint64_t macs_per_pe, Clock clock) {
  const Wide rate = Wide{elements} * (2 * macs_per_pe) * clock.frequency_hz();
  return FlopRate::flops_per_second(
      static_cast<std::uint64_t>(std::min(rate, Wide{std::numeric_limits<std::uint64_t>::max()})));
}

MacsPerPe read_macs_per_pe(config::Section& section) {
  constexpr std::int64_t most = 64;
  MacsPerPe macs;
  if (!section.has(macs_key().key())) {
    return macs;
  }
  config::Section by_type = section.section(macs_key().key());
  for (const std::string& key : by_type.keys()) {
    const std::optional<DataType> type = data_type_from(key);
    if (type) {
      const auto number = by_type.get<std::int64_t>(key, config::between<std::int64_t>(1, most));
      macs.set(*type, static_cast<std::uint64_t>(std::max<std::int64_t>(1, number)));
    } else {
      by_type.raw(key);
      by_type.error(key, unknown_name("data type", key, product_type_names()));
    }
  }
  return macs;
}

void note_macs_without_effect(config::Section& section, const MacsPerPe& macs,
                              const std::set<DataType>& types) {
  std::set<DataType> used;  // of what is stated
  for (const DataType type : types) {
    used.insert(macs.stated().contains(type) ? type : element_type(type));
  }
  for (const auto& [type, number] : macs.stated()) {
    if (number != 1 && !used.contains(type)) {
      config::Section by_type = section.section(macs_key().key());
      config::note_without_effect(by_type, to_string(type),
                                  "work without products of " + to_string(type));
    }
  }
}

ParameterInfo macs_per_pe_parameter() {
  return macs_key();
}

}  // namespace tessera::machine
