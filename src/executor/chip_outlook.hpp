// When the cores of a chip will next send to another rank: the outlook of operators on a chip.
//
// Method: a core sends to the first one when its share of an operator is over, which takes as long
// as its array, its vector unit and its SRAM have to do at least. It asks for memory when it is
// told to begin, and from then on as compute::Compute::promise_accesses says. The first core tells
// the others what to begin when an operator is over: not before all shares are, of which those on
// other ranks come in from there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/executor/chip.hpp"
#include "watched_outlook.hpp"

namespace tessera::executor {

class ChipOutlook final : public WatchedOutlook {
 public:
  static constexpr std::uint32_t no_core = 0xFFFFFFFFU;

  // `core_of`: [local entities] number of the core, or `no_core`. `setup.outlook.regions` is not
  // null. All is kept by reference.
  ChipOutlook(const ChipSetup& setup, std::span<const std::uint32_t> core_of);

  // Says where a core stands, when asked for, by the calls below.
  class Teller {
   public:
    virtual ~Teller() = default;
    virtual void tell(std::uint32_t index, ChipOutlook& outlook) = 0;
  };
  // A share that it is doing.
  void stand_in_share(std::uint32_t index, std::uint32_t number, SimTime begun);
  // One that it may be told to begin.
  void stand_idle(std::uint32_t index);
  // The first core tells of more operators.
  void stand_first(const Resumption& resumption);
  // Of a share of a core here that has begun; of those whose end the first core is being told.
  SimTime least_end(std::uint32_t index, std::uint32_t number, SimTime begun) const;
  SimTime heard_of(std::uint32_t first_core, std::uint32_t number) const;
  // How many of other ranks are on their way to the first core.
  std::uint32_t coming_from_others(std::uint32_t first_core, std::uint32_t number) const;

  pdes::Outlook outlook(std::uint32_t rank, const pdes::Moment& moment, Teller& teller);

 private:
  // Least latencies to each other rank.
  struct Ways {
    Regions heard;   // to the first core
    Regions memory;  // to that of the core
    Regions told;    // of the first core, to the others
  };
  void watch_core(std::uint32_t index, std::uint32_t core);
  void add_all(const Regions& regions, const Resumption& resumption);
  void tell(std::uint32_t index) override;

  const ChipSetup& setup_;
  std::vector<Ways> ways_;  // [watched]
  Teller* teller_ = nullptr;
};

}  // namespace tessera::executor
