#include "fixed_times.hpp"

#include "tessera/compute/messages.hpp"

namespace tessera::compute {

FixedTimes::FixedTimes(const ComputeModel& model, const ComputeSetup& setup)
    : machine_(&setup.machine) {
  durations_.reserve(setup.operations.size());
  for (const workload::Operation& operation : setup.operations) {
    durations_.push_back(model.duration(setup.machine, operation));
  }
}

void FixedTimes::handle(pdes::Context& context, const pdes::Event& event) {
  const auto request = event.as<ExecuteRequest>();
  SimTime duration = durations_[request.operation];
  if (!machine_->speeds.empty()) {
    duration = machine_->time_at(context.self(), duration);
  }
  context.send_self(duration, request.done, std::uint32_t{0}, event.tag);
}

}  // namespace tessera::compute
