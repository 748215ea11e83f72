#include "rank_models.hpp"

#include <algorithm>
#include <utility>

#include "tessera/sim/weights.hpp"

namespace tessera::sim {
namespace {

// Between regions [ranks x ranks], of whatever the models send.
std::vector<SimTime> delays_of(const Experiment& experiment, const machine::Partition& partition) {
  std::vector<SimTime> delays = machine::region_delays(*experiment.machine.topology, partition);
  if (const auto reach = experiment.network->reach(experiment.machine)) {
    const auto ranks = static_cast<std::size_t>(partition.ranks);
    for (std::size_t pair = 0; pair < delays.size(); ++pair) {
      const bool out_and_back = pair / ranks == pair % ranks;
      delays[pair] = std::min(delays[pair], out_and_back ? *reach * 2 : *reach);
    }
  }
  return delays;
}

// How ranks keep in step. Where some model sends from anywhere to anywhere, all are neighbours.
std::unique_ptr<pdes::SyncPolicy> make_policy(const Experiment& experiment,
                                              comm::Communicator& communicator,
                                              const machine::Partition& partition) {
  const machine::Topology& topology = *experiment.machine.topology;
  const bool along_links =
      experiment.network->sends_along_links() && experiment.memory->sends_along_links();
  pdes::RegionDelays delays;
  delays.least = delays_of(experiment, partition);
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
      engine(communicator, {partition.owner, members, delays_of(experiment, partition)},
             experiment.lookahead, make_policy(experiment, communicator, partition)),
      network(experiment.network->build({experiment.machine, members, network_slot})),
      memory(experiment.memory->build({experiment.machine, members, memory_slot, network_slot})),
      work(work_of(experiment)),
      compute(work->make_compute(members)),
      recorder(experiment, *work),
      executor(work->make_executor(members, &recorder)) {
  ensure(engine.attach(*network) == network_slot && engine.attach(*memory) == memory_slot &&
             engine.attach(*compute) == compute_slot && engine.attach(*executor) == executor_slot,
         "components have the slots they were told");
}

}  // namespace tessera::sim
