#include "fixed_times.hpp"

#include <algorithm>

#include "tessera/compute/messages.hpp"
#include "tessera/core/wide.hpp"

namespace tessera::compute {

FixedTimes::FixedTimes(const ComputeModel& model, const ComputeSetup& setup)
    : model_(&model),
      machine_(&setup.machine),
      operations_(setup.operations.size()),
      host_(model.host_times(), setup.members.size()) {
  const auto tiles = machine_->tiles();
  const bool beside = model.slows_beside();
  for (const workload::Operation& operation : setup.operations) {
    persistent_.push_back(beside && model.is_persistent(operation));
  }
  durations_.reserve(tiles.size() * operations_);
  for (const machine::Tile& tile : tiles) {
    for (const workload::Operation& operation : setup.operations) {
      durations_.push_back(model.duration(setup.machine, tile, operation));
    }
  }
  if (beside) {
    known_.assign(setup.operations.begin(), setup.operations.end());
  }
}

SimTime time_beside(SimTime left, SimTime beside, SimTime alone) {
  if (left >= beside) {
    return beside;
  }
  const Wide rest = static_cast<Wide>((beside - left).ps()) * alone.ps();
  return left + SimTime::from_ps(static_cast<std::int64_t>((rest + beside.ps() - 1) / beside.ps()));
}

SimTime FixedTimes::beside(std::size_t type, const ExecuteRequest& request) {
  std::vector<SimTime>& times = beside_[request.arriving];
  times.resize(durations_.size());
  SimTime& time = times[type * operations_ + request.operation];
  if (time == SimTime::zero()) {
    constexpr std::uint64_t giga = 1'000'000'000;
    time = model_->duration_beside(*machine_, machine_->tiles()[type], known_[request.operation],
                                   Bandwidth::bytes_per_second(request.arriving * giga));
  }
  return time;
}

SimTime FixedTimes::at_node(EntityId node, SimTime duration) const {
  return machine_->speeds.empty() ? duration : machine_->time_at(node, duration);
}

void FixedTimes::handle(pdes::Context& context, const pdes::Event& event) {
  const auto request = event.as<ExecuteRequest>();
  const std::size_t type = machine_->types.empty() ? 0 : machine_->type_of[context.self().value()];
  const std::size_t place = type * operations_ + request.operation;
  const SimTime begin = host_.begin(context.index(), context.now(), request.issue);
  const SimTime alone = at_node(context.self(), durations_[place]);
  const SimTime left = std::max(request.until, begin) - begin;
  SimTime duration = alone;
  if (persistent_[request.operation] && request.until != SimTime::never()) {
    duration += std::min(left, alone);
  } else if (left > SimTime::zero() && !known_.empty()) {
    duration = time_beside(left, at_node(context.self(), beside(type, request)), alone);
  }
  context.send_self(begin - context.now() + duration, request.done, std::uint32_t{0}, event.tag);
}

}  // namespace tessera::compute
