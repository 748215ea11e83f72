// Work and size do not compare.
// expect: no match for .operator==. \(operand types are .tessera::Flops. and .tessera::Bytes.\)
#include "tessera/core/units.hpp"

namespace tessera {
#ifdef MISTAKE
bool same = Flops(4) == Bytes(4);
#else
bool same = Flops(4) == Flops(4);
#endif
}  // namespace tessera
