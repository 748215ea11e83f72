// One NPU's part in a stacked collective.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/collective/algorithm_run.hpp"
#include "tessera/collective/run.hpp"
#include "tessera/collective/turns.hpp"

namespace tessera::collective {

// A dimension with what runs in it. `algorithm` outlives the run.
struct RunDimension {
  StackedDimension dimension;
  const Algorithm* algorithm = nullptr;
  StepCosts costs;
};

// What all members of a collective share. Immutable.
struct StackedCollective {
  Kind kind = Kind::all_reduce;
  Bytes bytes;  // of the vector, in the sense of Algorithm
  std::vector<RunDimension> dimensions;
  std::vector<StackedDimension> shape;  // of `dimensions`
  std::uint32_t at_a_time = 1;          // chunks in a queue of a dimension
  // Of the only dimension: chunk i goes in channel i % channels.
  std::uint32_t channels = 1;
  Turns turns;

  // Of a chunk. Members do not turn from one block of the algorithm into another: of blocks whose
  // size the channels do not divide, they turn among as many as divide both.
  Channel channel_of(std::uint32_t chunk) const;
};

// Makes the turns too; `message` gives times on an idle machine, for member numbers of a dimension.
using DimensionMessageTime =
    std::function<SimTime(std::uint32_t dimension, Member from, Member to, Bytes bytes)>;
StackedCollective plan_collective(Kind kind, Bytes bytes, std::vector<RunDimension> dimensions,
                                  const StackedOptions& options, const TurnOptions& turn_options,
                                  const DimensionMessageTime& message);

// The same in channels, which all run at once, each in as many chunks as the options say. Of kinds
// without a root.
StackedCollective plan_channels(Kind kind, Bytes bytes, const RunDimension& dimension,
                                std::uint32_t channels, StackedOptions options,
                                TurnOptions turn_options, const DimensionMessageTime& message);

class StackedRun final : public CollectiveRun {
 public:
  // `coordinates` of this member, and of the root (of kinds that have none: the origin).
  StackedRun(const StackedCollective& collective, std::vector<std::uint32_t> coordinates,
             std::vector<std::uint32_t> root);

  void begin(RunActions& actions) override;
  bool arrived(const StepName& name, RunActions& actions) override;
  void elapsed(const StepName& name, RunActions& actions) override;
  void passed_on(const StepName& name, std::uint32_t steps) override;
  bool is_over() const override { return chunks_over_ == chunk_phase_.size(); }
  bool visit_awaited(const AwaitedVisit& visit) const override;
  std::string waits_in() const override;
  std::vector<std::uint32_t> save() const override;
  void restore(const std::vector<std::uint32_t>& state) override;

 private:
  struct PhaseRun {
    Turn turn;
    AlgorithmRun run;
  };

  const Phase& phase_of(const Turn& turn) const {
    return collective_.turns.chunks[turn.chunk].phases[turn.phase];
  }
  bool takes_part(const Turn& turn) const;
  // This member's part in a phase.
  AlgorithmPart part_of(const Turn& turn) const;
  PhaseRun* find(const StepName& name);

  void begin_turns(RunActions& actions);
  void begin_phase(const Turn& turn, RunActions& actions);
  // Channels that have begun, from this place on.
  void go_on(std::size_t first, RunActions& actions);
  // Goes on with what comes after a phase, if that is over.
  bool settle(PhaseRun& phase, RunActions& actions);
  void end_phase(const Turn& turn);

  const StackedCollective& collective_;
  std::vector<std::uint32_t> coordinates_;  // from the root
  std::vector<std::uint32_t> root_;
  std::vector<std::uint32_t> chunk_phase_;  // [chunks]
  std::uint32_t chunks_over_ = 0;
  std::vector<std::uint32_t> next_turn_;  // [queues]
  std::vector<std::uint32_t> under_way_;  // [queues]
  std::vector<PhaseRun> running_;
};

}  // namespace tessera::collective
