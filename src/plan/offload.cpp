#include "tessera/plan/offload.hpp"

#include <limits>

#include "tessera/config/key.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::plan {
namespace {

using config::counted_in;
using config::Key;

const Key<std::uint32_t> layers_key = counted_in(
    "layers", Key<std::uint32_t>(
                  "offload.layers", 0,
                  "first layers of each chunk whose activations are kept in host memory between "
                  "passes; its last layer stays on the device",
                  config::between<std::uint32_t>(0, std::numeric_limits<std::int32_t>::max())));
const Key<Fraction> fraction_key{"offload.fraction", Fraction(),
                                 "part of the activations of these layers that is offloaded"};

}  // namespace

Bytes Offload::share_of(Bytes kept) const {
  const Wide all = Wide{kept.count()} * fraction.millionths() + (Fraction::one - 1);
  return Bytes(static_cast<std::uint64_t>(all / Fraction::one));
}

std::vector<ParameterInfo> offload_parameters() {
  return {layers_key, fraction_key};
}

Offload read_offload(config::Section& strategy) {
  Offload offload;
  config::Section section = strategy.section("offload");
  offload.layers = layers_key.read(section);
  offload.fraction = fraction_key.read(section);
  section.finish();
  return offload;
}

}  // namespace tessera::plan
