// What a compute model takes and what it gives.
#pragma once

#include <cstdint>

#include "tessera/core/data_type.hpp"
#include "tessera/core/units.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::compute {

inline constexpr unsigned execute_kind = 0;

// "Execute one operator, then raise an event on port `done` with the same tag."
struct ExecuteRequest {
  std::uint64_t flops = 0;
  std::uint64_t sram_bytes = 0;  // moved between the tile's own SRAM and its core
  DataType data_type = DataType::fp16;
  pdes::Port done;
};

inline void execute(pdes::Context& context, unsigned slot, Flops flops, Bytes sram_bytes,
                    DataType data_type, pdes::Port done, std::uint16_t tag) {
  context.send_self(SimTime::zero(), pdes::Port(slot, execute_kind),
                    ExecuteRequest{flops.count(), sram_bytes.count(), data_type, done}, tag);
}

}  // namespace tessera::compute
