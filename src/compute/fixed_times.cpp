#include "fixed_times.hpp"

#include "tessera/compute/messages.hpp"

namespace tessera::compute {

FixedTimes::FixedTimes(const ComputeModel& model, const ComputeSetup& setup, SimTime issue,
                       SimTime pass)
    : machine_(&setup.machine),
      operations_(setup.operations.size()),
      host_(issue, setup.members.size(), pass) {
  const auto tiles = machine_->tiles();
  const bool beside = model.slows_beside();
  durations_.reserve(tiles.size() * operations_);
  for (const machine::Tile& tile : tiles) {
    for (const workload::Operation& operation : setup.operations) {
      durations_.push_back(model.duration(setup.machine, tile, operation));
      if (beside) {
        beside_.push_back(model.duration_beside(setup.machine, tile, operation));
      }
    }
  }
}

void FixedTimes::handle(pdes::Context& context, const pdes::Event& event) {
  const auto request = event.as<ExecuteRequest>();
  const std::size_t type = machine_->types.empty() ? 0 : machine_->type_of[context.self().value()];
  const auto& durations = request.beside && !beside_.empty() ? beside_ : durations_;
  SimTime duration = durations[type * operations_ + request.operation];
  if (!machine_->speeds.empty()) {
    duration = machine_->time_at(context.self(), duration);
  }
  const SimTime begin = host_.begin(context.index(), context.now(), request.issue);
  context.send_self(begin - context.now() + duration, request.done, std::uint32_t{0}, event.tag);
}

}  // namespace tessera::compute
