// Notes of values of a strategy that the rest of it, or the work, leaves without effect.
#pragma once

#include "tessera/config/document.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// Of a strategy that has been read from the section.
void note_keys_without_effect(config::Section& section, const workload::Workload& workload,
                              const Strategy& strategy);

}  // namespace tessera::plan
