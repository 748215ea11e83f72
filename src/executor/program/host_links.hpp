// Copies of tiles between their memory and that of their host.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"
#include "tessera/plan/plan.hpp"

namespace tessera::executor {

// Each way of a tile's link does one copy after the other, in the order asked for. What comes in
// has gone out, by the same micro-batch and chunk. Nothing else hinders a copy, so that its end is
// known when it is asked for.
class HostLinks {
 public:
  // Keeps nothing where no program copies.
  HostLinks(const plan::Plan& plan, std::size_t tiles);

  // `pass`: whose activations are copied.
  void start(std::uint32_t index, SimTime now, const plan::Instruction& instruction,
             const plan::Pass& pass);
  // When the last copy under a slot of the mask is over.
  SimTime end(std::uint32_t index, std::uint64_t mask) const;

  void save(std::uint32_t index, pdes::StateWriter& writer) const;
  void restore(std::uint32_t index, pdes::StateReader& reader);
  std::size_t resident_bytes() const { return links_.capacity() * sizeof(Link); }

 private:
  struct Origin {
    std::uint32_t micro_batch = 0;
    std::uint32_t chunk = 0;
  };
  struct Link {
    std::array<SimTime, 2> free{};  // out, in
    std::array<SimTime, plan::copy_slots> over{};
    std::array<Origin, plan::copy_slots / 2> origin{};  // of the last copy out of each slot
  };
  std::vector<Link> links_;  // by tile
};

}  // namespace tessera::executor
