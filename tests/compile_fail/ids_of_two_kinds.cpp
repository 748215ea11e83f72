// Ids of different kinds do not compare.
// expect: no match for .operator==.
#include "tessera/core/ids.hpp"

namespace tessera {
#ifdef MISTAKE
bool same = EntityId(3) == Id<struct RankTag>(3);
#else
bool same = EntityId(3) == EntityId(3);
#endif
}  // namespace tessera
