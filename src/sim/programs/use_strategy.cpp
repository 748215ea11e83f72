#include "tessera/sim/programs/use_strategy.hpp"

#include <utility>
#include <vector>

#include "jobs/memory.hpp"
#include "programs/job.hpp"
#include "programs/settle_placement.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {

void use_strategy(Experiment& experiment, const plan::Strategy& strategy) {
  ensure(experiment.planned() != nullptr, "an experiment whose work a strategy cuts");
  Job& job = *experiment.single_job();
  PlannedWork& planned = *job.planned();
  plan::Plan plan = plan_of(experiment, planned.workload, strategy);
  job.ideal_time =
      plan::ideal_time(experiment.machine, plan,
                       arithmetic_time_of(*experiment.compute, experiment.machine), job.iterations);
  planned.in_channels = strategy.check_capacity ? plan::bytes_in_channels(experiment.machine, plan)
                                                : plan::BytesByChannel{};
  planned.plan = std::move(plan);
  settle_placement(experiment, experiment.jobs.front());
  number_jobs(experiment);
}

}  // namespace tessera::sim
