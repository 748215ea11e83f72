// Blocks of the cache on their way between units and the memory behind them: a node of the machine,
// which is asked in one message and answers with another one, or the machine's remote memory, whose
// closed form says how long an access takes.
#pragma once

#include <cstdint>

#include "serving/messages.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor {

// What has come to this entity, with the tag of its part at the host; `npu`: of the unit, where it
// is one. Whether the blocks are where they are to be.
bool go_on_moving(pdes::Context& context, const ServingSetup& setup, std::uint16_t slot,
                  const network::Arrival& what, std::uint32_t npu);

}  // namespace tessera::executor
