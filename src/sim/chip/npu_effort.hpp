// What operators ask of NPU cores and their memories, counted in programs of tiles.
#pragma once

#include <cstdint>

#include "cuts/predicted_events.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::sim {

// What there is to do for some operators.
struct Effort {
  std::uint64_t instructions = 0;
  std::uint64_t shares = 0;  // of operators, that cores are told
  std::uint64_t loads = 0;   // accesses
  std::uint64_t stores = 0;
  Bytes loaded;
  Bytes stored;

  Bytes moved() const { return loaded + stored; }
  void add(const Effort& other, std::uint64_t times) {
    instructions += other.instructions * times;
    shares += other.shares * times;
    loads += other.loads * times;
    stores += other.stores * times;
    loaded += other.loaded * times;
    stored += other.stored * times;
  }
  // `part` times of it, over `whole`, done by a core.
  void add_to(PredictedEvents& events, EntityId core, const npu::CoreConfig& config,
              std::uint64_t part, std::uint64_t whole) const;
};

// Of a group of an operator that has some. All are taken to be as the first, whose last tile
// stores.
Effort effort_of_group(const npu::TiledOperator& op);

}  // namespace tessera::sim
