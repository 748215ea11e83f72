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
                  "of each chunk, from its first on, whose activations wait in the host's memory; "
                  "the last layer stays",
                  config::between<std::uint32_t>(0, std::numeric_limits<std::int32_t>::max())));
const Key<Fraction> fraction_key{"offload.fraction", Fraction(),
                                 "of what these layers keep, that is copied"};

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
