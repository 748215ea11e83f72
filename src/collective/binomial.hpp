// Kinds with a root along a binomial tree, ceil(log2 n) steps (R. Thakur, R. Rabenseifner, W.
// Gropp, "Optimization of collective communication operations in MPICH", IJHPCA 19 (2005),
// sections 4.1 and 4.2, doi:10.1177/1094342005051521).
#pragma once

#include <cstdint>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective {

// ceil(log2 size).
std::uint32_t binomial_steps(std::uint32_t size);

// Members are joined at distances d = 1, 2, 4, …: member m, a multiple of 2 d, with m + d.
//   broadcast  the whole vector, greatest distance first
//   reduce     the same backwards
//   gather     m + d sends what it has collected, the chunks of its subtree, smallest distance
//   first scatter    the same backwards
Step binomial_step(Kind kind, std::uint32_t size, Member member, Bytes bytes, std::uint32_t step);

}  // namespace tessera::collective
