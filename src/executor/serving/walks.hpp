// Tiles that go through steps by themselves: operators one after the other, sums with the other
// shards, and what stages hand on. Of a tenant a tile does one step at a time, in the order in
// which its host tells of them, as the stream of a device does: it waits while its units exchange,
// or for the stage before, also where the next step could go on. Of several tenants steps may be
// under way: it does operators of steps with higher priority first, then of those that it was told
// of first.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "serving/core.hpp"
#include "serving/times.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/executor/program/executor.hpp"

namespace tessera::executor {

// Of a step at a tile that shares nothing: [parts of its walk, and behind] the time of operators
// from the beginning of a part to the end, to the next exchange, and to the next part that hands
// on. Never: there is none.
struct RestOfWalk {
  std::vector<SimTime> end;
  std::vector<SimTime> exchange;
  std::vector<SimTime> hand_on;
};

class ServingWalks {
 public:
  explicit ServingWalks(const ServingSetup& setup)
      : setup_(setup), work_(setup.work), times_(setup) {}

  // It begins when its turn has come.
  void be_told(ServingCore& core, const Told& told) const;
  // All of these: whether the step is over at this tile.
  bool begin(pdes::Context& context, ServingCore& core, Walking& walking);
  // The time of an operator has passed, or an access is over.
  bool computed(pdes::Context& context, ServingCore& core, std::uint16_t slot);
  // A message of an exchange.
  bool exchanged(pdes::Context& context, ServingCore& core, std::uint16_t step,
                 const ExchangeOf& of);

  // For outlooks: the walk of a step, the time of the operator that it is at, at that tile, and
  // what is behind.
  const serving::Walk& walk_of(const Walking& walking) const;
  SimTime time_of(const Walking& walking, EntityId node);
  const RestOfWalk& rest_of(const Walking& walking, EntityId node);

  std::uint64_t parts_done() const { return done_; }
  const AskedOfMemory& asked() const { return asked_; }
  Wide operand_bytes() const { return operands_; }
  void save_totals(pdes::StateWriter& writer) const;
  void add_totals(pdes::StateReader& reader);
  std::size_t resident_bytes() const { return times_.resident_bytes(); }

 private:
  // Until something has to be waited for.
  bool go_on(pdes::Context& context, ServingCore& core, std::uint16_t slot);
  // False: it is over at once.
  bool begin_part(pdes::Context& context, ServingCore& core, Walking& walking,
                  const serving::WalkPart& part);
  void begin_operator(pdes::Context& context, Walking& walking, std::uint32_t op);
  void access(pdes::Context& context, Walking& walking, Bytes bytes, bool write);
  void end_part(Walking& walking);
  void hand_over(pdes::Context& context, const ServingCore& core, const Walking& walking) const;

  ServingSetup setup_;
  const ServingWork& work_;
  static constexpr std::size_t most_rests = 256;

  OperatorTimes times_;
  // By tenant, walk, sizes, and the tile: by itself where it is slowed, else by its type.
  std::map<std::tuple<std::uint32_t, const serving::Walk*, serving::StepSizes::Words, bool,
                      std::uint32_t>,
           RestOfWalk>
      rests_;
  std::uint64_t done_ = 0;
  AskedOfMemory asked_;
  Wide operands_ = 0;  // bytes moved in DRAM
};

}  // namespace tessera::executor
