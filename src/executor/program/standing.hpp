// Where tiles stand in their programs, for their outlook: what each waits for, in its program and
// beside it.
#pragma once

#include <cstdint>
#include <span>

#include "collectives/steps.hpp"
#include "program/backgrounds.hpp"
#include "program/host_links.hpp"
#include "program/places.hpp"
#include "program/program_outlook.hpp"
#include "program/tile_messages.hpp"

namespace tessera::executor {

class ProgramStanding final : public ProgramOutlook::Teller {
 public:
  // All is kept by reference. `tiles` are those of the rank.
  ProgramStanding(const ProgramPlaces& places, std::span<TileState> tiles,
                  const TileMessages& messages, CollectiveSteps& steps, Backgrounds& backgrounds,
                  const HostLinks& host_links)
      : places_(places),
        tiles_(tiles),
        messages_(messages),
        steps_(steps),
        backgrounds_(backgrounds),
        host_links_(host_links) {}

  void tell(std::uint32_t index, ProgramOutlook& outlook) override;

 private:
  template <class Visit>
  void visit_background(std::uint32_t index, TileState& tile, const ProgramOutlook& outlook,
                        const Visit& visit);
  void tell_program(std::uint32_t index, TileState& tile, ProgramOutlook& outlook);

  const ProgramPlaces& places_;
  std::span<TileState> tiles_;
  const TileMessages& messages_;
  CollectiveSteps& steps_;
  Backgrounds& backgrounds_;
  const HostLinks& host_links_;
};

}  // namespace tessera::executor
