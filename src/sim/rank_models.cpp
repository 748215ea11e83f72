#include "rank_models.hpp"

#include <utility>

#include "tessera/sim/weights.hpp"

namespace tessera::sim {
namespace {

// How ranks keep in step. Where some model sends from anywhere to anywhere, all are neighbours.
std::unique_ptr<pdes::SyncPolicy> make_policy(const Experiment& experiment,
                                              comm::Communicator& communicator,
                                              const machine::Partition& partition) {
  const machine::Topology& topology = *experiment.machine.topology;
  const bool along_links =
      experiment.network->sends_along_links() && experiment.memory->sends_along_links();
  pdes::RegionDelays delays;
  delays.least = machine::region_delays(topology, partition);
  delays.direct = along_links ? machine::direct_delays(topology, partition) : delays.least;
  return pdes::sync_policies().at(experiment.options.synchronization)(communicator,
                                                                      std::move(delays));
}

}  // namespace

RankModels::RankModels(const Experiment& the_experiment, comm::Communicator& the_communicator)
    : experiment(the_experiment),
      communicator(the_communicator),
      partition(partition_of(experiment, communicator.size())),
      members(partition.members[static_cast<std::size_t>(communicator.rank())]),
      engine(communicator,
             {partition.owner, members,
              machine::region_delays(*experiment.machine.topology, partition)},
             experiment.lookahead, make_policy(experiment, communicator, partition)),
      network(experiment.network->build({experiment.machine, members, network_slot})),
      memory(experiment.memory->build({experiment.machine, members, memory_slot, network_slot})),
      compute(experiment.compute->build(
          {experiment.machine, members, experiment.plan.operations, compute_slot})),
      work(work_of(experiment)),
      recorder(experiment, *work),
      executor(work->make_executor(members, &recorder)) {
  ensure(engine.attach(*network) == network_slot && engine.attach(*memory) == memory_slot &&
             engine.attach(*compute) == compute_slot && engine.attach(*executor) == executor_slot,
         "components have the slots they were told");
}

}  // namespace tessera::sim
