// Work is not done at a rate of data.
// expect: could not convert .*from .tessera::Bandwidth. to .tessera::FlopRate.|cannot convert
// .tessera::Bandwidth. to .tessera::FlopRate.
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
auto span = execution_time(Flops(4), Bandwidth::bytes_per_second(2));
#else
auto span = execution_time(Flops(4), FlopRate::flops_per_second(2));
#endif
}  // namespace tessera
