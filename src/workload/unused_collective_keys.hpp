// Keys of collectives that have no use for them.
#pragma once

#include <cstdint>
#include <string_view>

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

// The same of what a barrier sends, which is nothing.
inline void note_unused_size(config::Section& section, std::string_view key,
                             collective::Kind kind) {
  if (kind == collective::Kind::barrier) {
    config::note_without_effect(section, key, "barrier, which sends no bytes");
  }
}

}  // namespace tessera::workload
