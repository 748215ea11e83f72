// A time takes no bare number either.
// expect: no match for .operator=. \(operand types are .tessera::SimTime. and .int.\)
#include "tessera/core/time.hpp"

namespace tessera {
#ifdef MISTAKE
void set(SimTime& time) {
  time = 5;
}
#else
void set(SimTime& time) {
  time = SimTime::from_ps(5);
}
#endif
}  // namespace tessera
