// The time of a whole step of a model that has its units for itself: what walks.hpp does event by
// event, as a sum, where nothing is shared.
//
// Of a step the host's messages, operators and exchanges follow from each other at each unit.
// Where units are alike, operators that depend on more than the tokens of a step (attention, what
// gives tokens) take as long at each and only move what comes behind, exchanges among it: they
// are summands, and the rest is kept by the number of tokens. So a step costs a look-up and the
// times of those operators, whatever the number of layers. Where units differ, or where a port
// still sends what one exchange gave it when the next one begins, the sum is made anew each time.
//
// Of a model with several stages a step begins at a stage once the stage before has handed on and
// the step before is over there, and no step is told of that is to overtake it. So all of its times
// follow from those of the steps before, and are known when it is told of. Times of a stage are
// kept by tokens and by how much later than the first one each of its units comes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "serving/exchange_time.hpp"
#include "serving/times.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

// From the host's telling on.
struct WholeStep {
  SimTime over;  // the last unit has told the host
  // [units]; of a stage: its own
  std::vector<SimTime> end;
  std::vector<SimTime> busy;
  std::vector<SimTime> exchanging;
  Wide operands = 0;  // bytes that all units move in DRAM
  // Whether longer operators only move what comes behind them: no exchange begins with ports that
  // still send.
  bool moves = true;
  std::vector<BusyPort> ports;  // of models with stages: that still send what they were given
};

// What the units of a tenant have done so far.
struct SpentTime {
  std::vector<SimTime> end;  // of the last step
  std::vector<SimTime> busy;
  std::vector<SimTime> exchanging;
  bool is_told = false;
  // Of models with several stages, whose steps begin before others are over.
  bool has_stages = false;
  std::vector<BusyPort> ports;

  void add(const WholeStep& step, SimTime told);
  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
};

class WholeSteps {
 public:
  explicit WholeSteps(const ServingSetup& setup);

  // Of the tenant's model with a batch of these sizes, told of at `now`, behind all that its units
  // have done so far.
  WholeStep of(std::uint32_t tenant, const serving::StepSizes& sizes, SimTime now,
               const SpentTime& spent);
  std::size_t resident_bytes() const;

 private:
  // An operator that occurs so often.
  struct Repeated {
    std::uint32_t op = 0;
    std::int64_t times = 0;
    bool of_tokens = true;  // its time depends on them alone
    bool of_keys = false;   // and on what sequences look at, so that it is hardly ever the same
  };
  // What units do until an exchange, or the end.
  struct Piece {
    std::vector<Repeated> operators;
    bool exchanges = false;
    std::uint32_t exchange = 0;  // op
  };
  // What a unit does.
  struct Done {
    SimTime time;
    Wide operands = 0;  // bytes
  };
  // A walk as pieces, each kept once, and their order.
  struct Plan {
    std::vector<Piece> pieces;
    std::vector<std::uint32_t> order;
    std::vector<Repeated> beyond_tokens;    // of all pieces
    std::optional<std::uint32_t> hands_on;  // op
  };
  // Units of a tenant.
  struct Stage {
    std::uint32_t tenant = 0;
    std::uint32_t number = 0;
    std::uint32_t first = 0;
    std::uint32_t units = 0;
  };

  Stage stage_of(std::uint32_t tenant, std::uint32_t number) const;
  const Plan& plan_of(const Stage& stage, const serving::StepSizes& sizes);
  void add_piece(const ServiceSettings& served, const Piece& piece, Plan& plan) const;
  void add_operator(const ServiceSettings& served, std::uint32_t op, Piece& piece) const;
  Repeated operator_of(const ServiceSettings& served, std::uint32_t op) const;
  WholeStep of_one_stage(const Stage& stage, const serving::StepSizes& sizes);
  WholeStep of_stages(std::uint32_t tenant, const serving::StepSizes& sizes, SimTime now,
                      const SpentTime& spent);
  // `all`: also operators that depend on more than tokens.
  WholeStep add_up(const Stage& stage, const Plan& plan, const serving::StepSizes& sizes, bool all);
  // Units of a stage go on from `step.end`.
  void pass(const Stage& stage, const Plan& plan, const serving::StepSizes& sizes, bool all,
            IdlePorts& ports, WholeStep& step);
  // The same by what is known of the tokens; false: it is not enough.
  bool pass_known(const Stage& stage, const Plan& plan, const serving::StepSizes& sizes,
                  const IdlePorts& ports, WholeStep& step);
  WholeStep known_of(const Stage& stage, const Plan& plan, const serving::StepSizes& sizes,
                     const std::vector<SimTime>& since);
  void hand_on(const Stage& stage, const Plan& plan, const serving::StepSizes& sizes,
               IdlePorts& ports, WholeStep& step) const;
  Done work_of(std::uint32_t tenant, std::uint32_t unit, const std::vector<Repeated>& operators,
               const serving::StepSizes& sizes, bool all);
  void be_told(std::uint32_t tenant, IdlePorts& ports, WholeStep& step) const;
  void exchange(std::uint32_t tenant, const serving::Exchange& exchange, IdlePorts& ports,
                WholeStep& step);
  EntityId node_of(std::uint32_t tenant, std::uint32_t unit) const;
  bool are_alike(std::uint32_t tenant) const;
  bool stream_alike(std::uint32_t tenant) const;
  // Of what streams beside an operator.
  SimTime access_time(std::uint32_t tenant, std::uint32_t unit, const OperatorTime& known);
  // [units] Units of its stage that stream from the same channel, itself among them; none where
  // nothing streams.
  std::vector<std::uint64_t> sharers_of(std::uint32_t tenant) const;

  static constexpr std::size_t most_kept = 20'000;

  ServingSetup setup_;
  OperatorTimes times_;
  ExchangeTimes exchanges_;
  std::vector<char> alike_;                          // [tenants] their units
  std::vector<std::vector<std::uint64_t>> sharers_;  // [tenants]
  // By tile, bytes read and bytes written.
  std::map<std::tuple<EntityId, std::uint64_t, std::uint64_t>, SimTime> accesses_;
  // By tenants with several stages: when each unit has been told of a step.
  std::map<std::uint32_t, std::vector<SimTime>> told_;
  // By tenant, stage, and whether tokens come out, and some have adapters.
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool, bool>, Plan> plans_;
  // By tenant, whether tokens come out, and tokens: all that depends on nothing else.
  std::map<std::tuple<std::uint32_t, bool, std::uint64_t>, WholeStep> known_;
  // The same of stages, and of how much later than the first one each unit comes.
  std::map<std::tuple<std::uint32_t, std::uint32_t, bool, std::uint64_t, std::vector<SimTime>>,
           WholeStep>
      known_stages_;
};

}  // namespace tessera::executor
