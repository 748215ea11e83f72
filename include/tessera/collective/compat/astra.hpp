// ASTRA-sim 2.0 (W. Won et al., ISPASS 2023, arXiv:2303.14006), where its public code does
// otherwise than the papers it follows, or than this program.
#pragma once

#include "tessera/collective/conventions.hpp"

namespace tessera::collective {

const Conventions& astra_conventions();

}  // namespace tessera::collective
