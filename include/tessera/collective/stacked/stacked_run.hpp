// One NPU's part in a stacked collective.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  Turns turns;
};

// Makes the turns too; `message` gives times on an idle machine, for member numbers of a dimension.
using DimensionMessageTime =
    std::function<SimTime(std::uint32_t dimension, Member from, Member to, Bytes bytes)>;
StackedCollective plan_collective(Kind kind, Bytes bytes, std::vector<RunDimension> dimensions,
                                  const StackedOptions& options, const TurnOptions& turn_options,
                                  const DimensionMessageTime& message);

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
  std::string waits_in() const override;
  std::vector<std::uint32_t> save() const override;
  void restore(const std::vector<std::uint32_t>& state) override;

 private:
  // Steps of one lane. Those of an algorithm that goes in step end in order; else `ended` says
  // which have.
  struct Lane {
    std::uint32_t begun = 0;
    std::uint32_t over = 0;  // all below are
    std::vector<bool> ended;
  };
  struct PhaseRun {
    Turn turn;
    bool begun = false;  // the endpoint delay is over
    std::uint32_t lanes_left = 0;
    std::vector<Lane> lanes;
  };
  static constexpr std::uint32_t before_steps = 0xFFFFFFFFU;  // StepName::step of the first wait

  const Phase& phase_of(const Turn& turn) const {
    return collective_.turns.chunks[turn.chunk].phases[turn.phase];
  }
  const RunDimension& dimension_of(const Turn& turn) const {
    return collective_.dimensions[phase_of(turn).dimension];
  }
  bool takes_part(const Turn& turn) const;
  // Another member as the phase counts them, or a member as the dimension does.
  Member counted(const Phase& phase, Member member) const;
  Step step_of(const Turn& turn, std::uint32_t lane, std::uint32_t number) const;
  PhaseRun* find(const Turn& turn);

  void begin_turns(RunActions& actions);
  void begin_phase(const Turn& turn, RunActions& actions);
  void begin_steps(PhaseRun& run, std::uint32_t lane, RunActions& actions);
  // The message of a step that has begun is here.
  void take(PhaseRun& run, std::uint32_t lane, std::uint32_t number, const Step& step,
            RunActions& actions);
  void end_step(PhaseRun& run, std::uint32_t lane, std::uint32_t number);
  void settle(PhaseRun& run, RunActions& actions);

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
