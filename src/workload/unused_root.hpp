// The key `root` of collectives that have none.
#pragma once

#include <cstdint>

#include "tessera/collective/kind.hpp"
#include "tessera/config/document.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::workload {

// Says in the notes of a run that it has no effect, where another than the default is given.
inline void note_unused_root(config::Section& section, collective::Kind kind, std::int64_t root) {
  if (root != 0 && !collective::has_root(kind)) {
    config::note_without_effect(section, "root", collective::to_string(kind) + ", which has none");
  }
}

}  // namespace tessera::workload
