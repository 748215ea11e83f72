// Not even explicitly: the unit must be said.
// expect: is private within this context
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
auto rate = Bandwidth(std::uint64_t{4});
#else
auto rate = Bandwidth::bytes_per_second(4);
#endif
}  // namespace tessera
