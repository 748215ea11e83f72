#include "tessera/collective/algorithm_run.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::collective {

// One lane of a run, in the present event.
class AlgorithmRun::Host {
 public:
  Host(AlgorithmRun& run, std::uint32_t lane, RunActions& actions)
      : run_(run), part_(run.part_), lane_(lane), actions_(actions) {}

  Lane& lane() { return run_.lane_at(lane_).lane; }
  std::uint32_t steps() const { return run_.steps_; }
  bool passes_on() const { return run_.passes_on_; }
  std::vector<bool>* ended() {
    std::vector<bool>& ended = run_.lane_at(lane_).ended;
    return ended.empty() ? nullptr : &ended;
  }
  const Step& step(std::uint32_t number) {
    if (number != known_) {
      known_ = number;
      step_ = part_.algorithm->step(part_.kind, part_.size, part_.member, bytes(), number, lane_);
    }
    return step_;
  }
  void send(const Step& step) {
    actions_.send(part_.dimension, (run_.counted(step.send_to) + part_.root) % part_.size,
                  name(step.send_step), part_.costs.on_wire(step.send_bytes));
  }
  bool take_early(std::uint32_t number) { return actions_.take_early(name(number)); }
  bool received(std::uint32_t number, const Step& step) {
    actions_.taken(part_.costs.on_wire(step.receive_bytes));
    const SimTime time = part_.costs.after_message(step, number);
    if (time > SimTime::zero()) {
      actions_.wait(time, name(number));
    }
    return time == SimTime::zero();
  }
  void passed_on(std::uint32_t /*number*/, Bytes bytes) {
    actions_.taken(part_.costs.on_wire(bytes));
  }

 private:
  static constexpr std::uint32_t no_step = 0xFFFFFFFFU;

  Bytes bytes() const {
    const std::uint32_t lanes = run_.lane_count_;
    return lanes == 1 ? part_.bytes : chunk_bytes(part_.bytes, lanes, lane_);
  }
  StepName name(std::uint32_t step) const {
    return {part_.chunk, part_.phase, static_cast<std::uint16_t>(lane_), step};
  }

  AlgorithmRun& run_;
  const AlgorithmPart& part_;
  std::uint32_t lane_;
  RunActions& actions_;
  std::uint32_t known_ = no_step;
  Step step_;
};

AlgorithmRun::AlgorithmRun(const AlgorithmPart& part)
    : part_(part), steps_(part.algorithm->steps(part.kind, part.size)) {
  if (steps_ == 0) {
    return;
  }
  passes_on_ = part.algorithm->is_passed_on(part.kind) && part.costs.endpoint == SimTime::zero() &&
               part.costs.local_memory == Bandwidth();
  lane_count_ = part.algorithm->lanes(part.kind);
  lanes_left_ = lane_count_;
  more_lanes_.resize(lane_count_ - 1);
  for (std::uint32_t lane = 0; lane < lane_count_ && !part.algorithm->in_step(); ++lane) {
    lane_at(lane).ended.resize(steps_);
  }
}

void AlgorithmRun::begin(RunActions& actions) {
  if (!is_over() && part_.costs.endpoint > SimTime::zero()) {
    actions.wait(part_.costs.endpoint, {part_.chunk, part_.phase, 0, before_steps});
    return;
  }
  start(actions);
}

void AlgorithmRun::begin_sending(RunActions& actions) {
  if (!is_over() && part_.costs.endpoint > SimTime::zero()) {
    actions.wait(part_.costs.endpoint, {part_.chunk, part_.phase, 0, before_steps});
    return;
  }
  begun_ = true;
  for (std::uint32_t lane = 0; lane < lane_count_; ++lane) {
    Host host(*this, lane, actions);
    host.lane().begin_next(host);
  }
}

void AlgorithmRun::go_on(RunActions& actions) {
  for (std::uint32_t lane = 0; begun_ && lane < lane_count_; ++lane) {
    Host host(*this, lane, actions);
    go_on(host);
  }
}

void AlgorithmRun::start(RunActions& actions) {
  begun_ = true;
  for (std::uint32_t lane = 0; lane < lane_count_; ++lane) {
    Host host(*this, lane, actions);
    go_on(host);
  }
}

void AlgorithmRun::go_on(Host& host) {
  host.lane().go_on(host);
  lanes_left_ -= host.lane().over == steps_ ? 1 : 0;
}

bool AlgorithmRun::arrived(const StepName& name, RunActions& actions) {
  if (!begun_ || name.step >= lane_at(name.lane).lane.begun) {
    return false;
  }
  Host host(*this, name.lane, actions);
  host.lane().arrived(name.step, host);
  go_on(host);
  return true;
}

void AlgorithmRun::elapsed(const StepName& name, RunActions& actions) {
  if (name.step == before_steps) {
    start(actions);
    return;
  }
  Host host(*this, name.lane, actions);
  host.lane().end(name.step, host);
  go_on(host);
}

void AlgorithmRun::passed_on(const StepName& name, std::uint32_t steps) {
  ensure(begun_ && lane_at(name.lane).ended.empty(),
         "steps one after the other, of a run that has begun");
  Lane& lane = lane_at(name.lane).lane;
  ensure(lane.begun == lane.over + 1, "a step under way");
  lane.over += steps;
  lane.begun += steps;
}

bool AlgorithmRun::visit_awaited(const AwaitedVisit& visit) const {
  if (!begun_) {
    visit({part_.dimension, 0, {part_.chunk, part_.phase, 0, before_steps}, Bytes()});
    return true;
  }
  for (std::uint32_t lane = 0; lane < lane_count_; ++lane) {
    if (lane_at(lane).lane.over < steps_ && !visit_lane(lane, visit)) {
      return false;
    }
  }
  return true;
}

// A lane that has sent all ends with the last of its messages: any one will do.
bool AlgorithmRun::visit_lane(std::uint32_t number, const AwaitedVisit& visit) const {
  constexpr std::uint32_t most_awaited = 8;
  const auto& [lane, ended] = lane_at(number);
  const bool has_sent_all = lane.begun == steps_;
  std::uint32_t awaited = 0;
  for (std::uint32_t at = lane.over; at < lane.begun; ++at) {
    if (!ended.empty() && ended[at]) {
      continue;
    }
    if (++awaited > most_awaited) {
      return false;
    }
    const Bytes bytes =
        lane_count_ == 1 ? part_.bytes : chunk_bytes(part_.bytes, lane_count_, number);
    const Step step =
        part_.algorithm->step(part_.kind, part_.size, part_.member, bytes, at, number);
    if (step.receive_from == nobody) {
      return false;
    }
    visit({part_.dimension,
           (counted(step.receive_from) + part_.root) % part_.size,
           {part_.chunk, part_.phase, static_cast<std::uint16_t>(number), at},
           part_.costs.on_wire(step.receive_bytes)});
    if (has_sent_all) {
      break;
    }
  }
  return awaited > 0;
}

std::string AlgorithmRun::waits_in() const {
  return "dimension " + std::to_string(part_.dimension);
}

std::vector<std::uint32_t> AlgorithmRun::save() const {
  std::vector<std::uint32_t> state{begun_ ? 1U : 0U, lanes_left_};
  for (std::uint32_t each = 0; each < lane_count_; ++each) {
    const auto& [lane, ended] = lane_at(each);
    state.insert(state.end(), {lane.begun, lane.over});
    // Only those between `over` and `begun` are not known from these.
    for (std::uint32_t number = lane.over; !ended.empty() && number < lane.begun; ++number) {
      state.push_back(ended[number] ? 1 : 0);
    }
  }
  return state;
}

void AlgorithmRun::restore(const std::vector<std::uint32_t>& state) {
  std::size_t at = 0;
  const auto next = [&] {
    ensure(at < state.size(), "the state of a collective ends early");
    return state[at++];
  };
  begun_ = next() != 0;
  lanes_left_ = next();
  for (std::uint32_t each = 0; each < lane_count_; ++each) {
    auto& [lane, ended] = lane_at(each);
    lane.begun = next();
    lane.over = next();
    for (std::uint32_t number = 0; !ended.empty() && number < lane.begun; ++number) {
      ended[number] = number < lane.over || next() != 0;
    }
  }
}

}  // namespace tessera::collective
