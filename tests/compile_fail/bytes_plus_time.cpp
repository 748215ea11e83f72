// A size and a time have no sum.
// expect: no match for .operator\+. \(operand types are .tessera::Bytes. and .tessera::SimTime.\)
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
auto sum = Bytes(4) + SimTime::from_ps(2);
#else
auto sum = Bytes(4) + Bytes(2);
#endif
}  // namespace tessera
