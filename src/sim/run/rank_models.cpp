#include "run/rank_models.hpp"

#include <algorithm>
#include <utility>

#include "jobs/tenant_numbers.hpp"
#include "run/known_pairs.hpp"

namespace tessera::sim {
namespace {

// Whether tiles tell each other of messages: see executor::Observer.
bool tells_of_messages(const Experiment& experiment) {
  return experiment.options.trace == TraceLevel::full &&
         std::any_of(experiment.jobs.begin(), experiment.jobs.end(),
                     [](const PlacedJob& placed) { return placed.job->logs_messages(); });
}

// Between regions, of whatever the models send.
RegionDelays delays_of(const Experiment& experiment, const machine::Partition& partition,
                       int rank) {
  RegionDelays delays = machine::region_delays(*experiment.machine.topology, partition, rank);
  const auto reach = experiment.network->reach(experiment.machine);
  if (reach || !experiment.network->sends_along_links() ||
      !experiment.memory->sends_along_links() || tells_of_messages(experiment)) {
    delays.connect_all(static_cast<std::size_t>(rank), reach);
  }
  return delays;
}

// How ranks keep in step.
std::unique_ptr<pdes::SyncPolicy> make_policy(const Experiment& experiment,
                                              comm::Communicator& communicator,
                                              const machine::Partition& partition) {
  return pdes::sync_policies().at(synchronization_of(experiment))(
      communicator, delays_of(experiment, partition, communicator.rank()));
}

// Whether an access to memory sends messages over the network.
bool accesses_travel(const Experiment& experiment) {
  bool travel = false;
  if (!experiment.machine.channels.empty()) {
    experiment.memory->predict_events(
        experiment.machine, experiment.machine.topology->computing_node_ids().front(), Bytes(1),
        false, [](EntityId, std::uint64_t) {},
        [&travel](EntityId, EntityId, Bytes, std::uint64_t) { travel = true; });
  }
  return travel;
}

// As if each channel of the machine was as wide and as quick as any.
std::function<SimTime(Bytes)> least_access(const Experiment& experiment) {
  if (experiment.machine.channels.empty()) {
    return [](Bytes) { return SimTime::zero(); };
  }
  const machine::MemoryChannels& channels = experiment.machine.channels;
  machine::MemoryChannel best = channels.front();
  for (const auto& [channel, count] : channels.kinds()) {
    best.bandwidth = std::max(best.bandwidth, channel.bandwidth);
    best.latency = std::min(best.latency, channel.latency);
  }
  return [&experiment, best](Bytes bytes) { return experiment.memory->least_time(best, bytes); };
}

// Of a run on several ranks.
executor::OutlookSetup outlook_setup(const Experiment& experiment, const pdes::RegionView& regions,
                                     network::Network& network, const Work& work) {
  const machine::Machine& machine = experiment.machine;
  executor::OutlookSetup setup;
  setup.regions = &regions;
  setup.exit_of = [&network](EntityId from, EntityId to) { return network.exit_of(from, to); };
  setup.exit_of_message = [&network](EntityId from, EntityId to, Bytes bytes) {
    return network.exit_of_message(from, to, bytes);
  };
  setup.least_time = [&network](EntityId from, EntityId to, Bytes bytes) {
    return network.least_time(from, to, bytes);
  };
  setup.memory_node = [&machine, travel = accesses_travel(experiment)](EntityId tile) {
    const bool has_channel = travel && machine.channel_of[tile.value()] < machine.channels.size();
    return has_channel ? machine.channels[machine.channel_of[tile.value()]].node : EntityId::none();
  };
  setup.least_access = least_access(experiment);
  setup.replies_by_access = experiment.memory->replies_by_access();
  if (work.tells_when_cores_begin()) {
    setup.computing_accesses = [&experiment](EntityId tile) {
      return experiment.compute->of(experiment.machine.tile_of(tile)).accesses_memory();
    };
  }
  return setup;
}

// One that needs to know who sends to whom does before others ask it for routes.
std::unique_ptr<network::Network> make_network(const Experiment& experiment, const Work& work,
                                               const network::NetworkSetup& setup) {
  auto network = experiment.network->build(setup);
  if (experiment.network->needs_pairs() && may_be_solved_apart(experiment, work)) {
    network->learn_routes(pairs_of(work));
  }
  return network;
}

// Of all graphs whose accesses it serves; null: there are none.
std::unique_ptr<memory::CoherentMemory> coherent_memory_of(const Experiment& experiment,
                                                           const std::vector<EntityId>& members) {
  std::vector<memory::CoherentGroup> groups;
  for (const PlacedJob& placed : experiment.jobs) {
    if (auto group = placed.job->coherent_group()) {
      groups.push_back(std::move(*group));
    }
  }
  if (groups.empty()) {
    return nullptr;
  }
  return memory::make_coherent_memory({*experiment.coherence, std::move(groups), members,
                                       coherent_slot, network_slot, memory_slot});
}

}  // namespace

RankModels::RankModels(const Experiment& the_experiment, comm::Communicator& the_communicator,
                       const CutChoice* choice)
    : experiment(the_experiment),
      communicator(the_communicator),
      cut(choice != nullptr ? *choice : cut_for(experiment, communicator.size())),
      partition(cut.partition),
      owner(cut.partition.owner.spell_out()),
      members(cut.partition.members[static_cast<std::size_t>(communicator.rank())].spell_out()),
      regions{owner, static_cast<std::uint32_t>(communicator.rank())},
      engine(communicator, {owner, members, delays_of(experiment, partition, communicator.rank())},
             experiment.lookahead, make_policy(experiment, communicator, partition)),
      work(work_of(experiment)),
      tenants(tenant_numbers(experiment)),
      network(make_network(
          experiment, *work,
          {experiment.machine, members, network_slot, promises() ? &regions : nullptr, tenants})),
      memory(experiment.memory->build(
          {experiment.machine, members, memory_slot, network_slot, promises() ? &regions : nullptr,
           [this](EntityId from, EntityId to) { return network->exit_of(from, to); }, tenants})),
      compute(work->make_compute(members)),
      recorder(experiment, *work),
      executor(work->make_executor(members, &recorder,
                                   promises() ? outlook_setup(experiment, regions, *network, *work)
                                              : executor::OutlookSetup{})),
      coherent(coherent_memory_of(experiment, members)) {
  ensure(engine.attach(*network) == network_slot && engine.attach(*memory) == memory_slot &&
             engine.attach(*compute) == compute_slot && engine.attach(*executor) == executor_slot,
         "components have the slots they were told");
  if (coherent) {
    ensure(engine.attach(*coherent) == coherent_slot, "coherent memory has the last slot");
  }
  if (promises()) {
    learn_routes();
  }
}

bool RankModels::promises() const {
  return communicator.size() > 1 && synchronization_of(experiment) == "promise";
}

void RankModels::learn_routes() {
  network->report_progress(
      [this](const network::Progress& message) {
        if (message.deliver.component() == memory_slot) {
          memory->expect(message);
        }
        return executor->expect(message);
      },
      [this](const network::Progress& message) { executor->follow(message); });
  const auto reply = [](EntityId tile, std::uint16_t tag, SimTime at) {
    return network::Progress{EntityId::none(), tile, pdes::Port(memory_slot, 0), tag, 0, at};
  };
  memory->report_replies([this, reply](EntityId tile, std::uint16_t tag,
                                       SimTime at) { executor->expect(reply(tile, tag, at)); },
                         [this, reply](EntityId tile, std::uint16_t tag, SimTime at) {
                           if (regions.is_here(tile)) {
                             executor->follow(reply(tile, tag, at));
                           }
                         });
  if (work->tells_when_cores_begin()) {
    const executor::OutlookSetup setup = outlook_setup(experiment, regions, *network, *work);
    compute->promise_accesses({&regions, setup.exit_of, setup.memory_node});
  }
  if (work->knows_pairs() && !experiment.network->needs_pairs()) {
    network->learn_routes(pairs_of(*work));
  }
}

}  // namespace tessera::sim
