// A time turns into a number only when asked for its unit.
// expect: cannot convert .tessera::SimTime. to .(std::)?int64_t.
#include "tessera/core/time.hpp"

namespace tessera {
#ifdef MISTAKE
std::int64_t count = SimTime::from_ps(2);
#else
std::int64_t count = SimTime::from_ps(2).ps();
#endif
}  // namespace tessera
