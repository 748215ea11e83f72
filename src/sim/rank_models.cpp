#include "rank_models.hpp"

namespace tessera::sim {
namespace {

// The components' numbers at the engine.
enum Slot : unsigned { network_slot, memory_slot, compute_slot, executor_slot };

}  // namespace

RankModels::RankModels(const Experiment& the_experiment, comm::Communicator& the_communicator)
    : experiment(the_experiment),
      communicator(the_communicator),
      partition(machine::partitioners().at(experiment.options.partition)(
          *experiment.machine.topology, communicator.size(), {})),
      members(partition.members[static_cast<std::size_t>(communicator.rank())]),
      engine(communicator,
             {partition.owner, members,
              machine::region_delays(*experiment.machine.topology, partition)},
             experiment.lookahead),
      network(experiment.network->build({experiment.machine, members, network_slot})),
      memory(experiment.memory->build({experiment.machine, members, memory_slot, network_slot})),
      compute(experiment.compute->build({experiment.machine, members, compute_slot})),
      recorder(experiment),
      executor(executor::make_executor({experiment.machine, experiment.plan, members,
                                        experiment.options.iterations, executor_slot, network_slot,
                                        memory_slot, compute_slot, &recorder})) {
  ensure(engine.attach(*network) == network_slot && engine.attach(*memory) == memory_slot &&
             engine.attach(*compute) == compute_slot &&
             engine.attach(*executor) == executor_slot,
         "components have the slots they were told");
}

}  // namespace tessera::sim
