// Blocks of the cache on their way between units and the memory behind them: a node of the machine,
// which is asked in one message and answers with another one; the machine's remote memory, whose
// closed form says how long an access takes; or the memory of hosts, to which each way of a unit's
// link does one copy after the other.
#pragma once

#include <cstdint>

#include "serving/core.hpp"
#include "serving/messages.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor {

// What has come to this entity, with the tag of its part at the host; `core`: of the unit, where it
// is one, else null. Whether the blocks are where they are to be.
bool go_on_moving(pdes::Context& context, const ServingSetup& setup, std::uint16_t slot,
                  const network::Arrival& what, ServingCore* core);

}  // namespace tessera::executor
