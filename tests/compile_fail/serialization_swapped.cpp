// The arguments of serialization_time cannot be swapped.
// expect: could not convert .*from .tessera::Bandwidth. to .tessera::Bytes.|cannot convert
// .tessera::Bandwidth. to .tessera::Bytes.
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
auto span = serialization_time(Bandwidth::bytes_per_second(2), Bytes(4));
#else
auto span = serialization_time(Bytes(4), Bandwidth::bytes_per_second(2));
#endif
}  // namespace tessera
