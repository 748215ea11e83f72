// The square of a time means nothing here.
// expect: no match for .operator\*. \(operand types are .tessera::SimTime. and .tessera::SimTime.\)
#include "tessera/core/time.hpp"

namespace tessera {
#ifdef MISTAKE
auto product = SimTime::from_ps(2) * SimTime::from_ps(3);
#else
auto product = SimTime::from_ps(2) * 3;
#endif
}  // namespace tessera
