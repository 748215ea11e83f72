#include "fixed_times.hpp"

#include "tessera/compute/messages.hpp"

namespace tessera::compute {

FixedTimes::FixedTimes(const ComputeModel& model, const ComputeSetup& setup) {
  durations_.reserve(setup.operations.size());
  for (const workload::Operation& operation : setup.operations) {
    durations_.push_back(model.duration(setup.machine, operation));
  }
}

void FixedTimes::handle(pdes::Context& context, const pdes::Event& event) {
  const auto request = event.as<ExecuteRequest>();
  context.send_self(durations_[request.operation], request.done, std::uint32_t{0}, event.tag);
}

}  // namespace tessera::compute
