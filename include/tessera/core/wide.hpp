// 128-bit integers for intermediates: products of times and rates, sums over many ranks.
#pragma once

namespace tessera {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

}  // namespace tessera
