// An entity's number is taken out by name.
// expect: cannot convert .tessera::EntityId.|cannot convert .tessera::Id<
#include "tessera/core/ids.hpp"

namespace tessera {
#ifdef MISTAKE
std::uint32_t number = EntityId(3);
#else
std::uint32_t number = EntityId(3).value();
#endif
}  // namespace tessera
