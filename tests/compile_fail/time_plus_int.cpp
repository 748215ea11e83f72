// A time and a bare number have no sum.
// expect: no match for .operator\+. \(operand types are .tessera::SimTime. and .int.\)
#include "tessera/core/time.hpp"

namespace tessera {
#ifdef MISTAKE
auto later = SimTime::zero() + 1;
#else
auto later = SimTime::zero() + SimTime::from_ps(1);
#endif
}  // namespace tessera
