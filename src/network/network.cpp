#include "tessera/network/network.hpp"

#include <utility>

#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/network/keys.hpp"

namespace tessera::network {
namespace {

class EndsOnly final : public PredictedTraffic {
 public:
  void visit_runs(EntityId from, EntityId to, Bytes, const VisitRun& visit) const override {
    visit({.first = from.value(), .events = 1});
    visit({.first = to.value(), .events = 1});
  }
};

}  // namespace

void PredictedTraffic::visit_events(EntityId from, EntityId to, Bytes bytes,
                                    const Visit& visit) const {
  visit_runs(from, to, bytes, [&visit](const Run& run) {
    for (std::uint32_t i = 0; i < run.nodes; ++i) {
      visit(EntityId(run.first + i * run.step), run.events);
    }
  });
}

std::unique_ptr<PredictedTraffic> predict_ends_only() {
  return std::make_unique<EndsOnly>();
}

Registry<NetworkMaker>& networks() {
  static Registry<NetworkMaker> registry("network");
  return registry;
}

namespace {

const config::NameKey& routing_key() {
  static const config::NameKey key =
      config::NameKey("routing", machine::routing_names, "as the topology says",
                      "xy, yx (dimension order, grids only), cluster (clusters only), stack "
                      "(stacks only), hierarchy (graphs of templates), given (graphs with routes), "
                      "ecmp (traffic spread over shortest paths) or shortest (smallest latency)")
          .derived();
  return key;
}

const config::Key<SimTime>& message_overhead() {
  static const config::Key<SimTime> key{"message_overhead", SimTime::zero(),
                                        "time that a message spends at its endpoints in addition "
                                        "to its time on the links; it occupies no link meanwhile",
                                        config::at_least(SimTime::zero())};
  return key;
}

const config::Key<SimTime>& collective_overhead() {
  static const config::Key<SimTime> key{
      "collective_overhead", SimTime::zero(),
      "time that each member of a collective spends before its first message",
      config::at_least(SimTime::zero())};
  return key;
}

const config::Key<SimTime>& collective_member_overhead() {
  static const config::Key<SimTime> key{"collective_member_overhead", SimTime::zero(),
                                        "additional time per member of the group: a framework's "
                                        "work on lists with one entry per member",
                                        config::at_least(SimTime::zero())};
  return key;
}

const config::Key<Bandwidth>& collective_fill() {
  static const config::Key<Bandwidth> key{
      "collective_fill", Bandwidth(),
      "every all-reduce, reduce-scatter and all-gather takes an additional (vector / members) / "
      "collective_fill: a step at the ends of a library's loops that overlaps no other; 0 B/s: no "
      "additional time"};
  return key;
}

const config::ChoiceKey<collective::Library>& library() {
  static const config::ChoiceKey<collective::Library> key{
      "library",
      {{"none", collective::Library::none}, {"nccl", collective::Library::nccl}},
      "none",
      "none: the configured algorithms, step by step; nccl: all-reduces, all-gathers and "
      "reduce-scatters as NCCL selects them by size, ranks and servers (plans with aggregation: "
      "with NCCL's algorithm, protocol and latency; graphs: as simulated rings or trees, or with "
      "NCCL's time where switches perform the reduction)"};
  return key;
}

constexpr std::uint32_t usual_generation = 2;

const config::Key<std::uint32_t>& nvswitch_generation() {
  static const config::Key<std::uint32_t> key{
      "nvswitch_generation", usual_generation,
      "generation of the servers' NVSwitches, for library: nccl; from 3 (H100) on, accelerators "
      "are modelled as Hopper, with reductions in the switches (NVLink SHARP), below 3 as Ampere",
      config::between(1U, 16U)};
  return key;
}

const config::Key<bool>& nvls() {
  static const config::Key<bool> key{
      "nvls", true,
      "with library: nccl, whether it may use NVLS and NVLSTree, where the switches of servers "
      "perform the reduction (nvswitch_generation); false for NCCL before 2.17 or with "
      "NCCL_NVLS_ENABLE=0"};
  return key;
}

}  // namespace

// Without names, which are not all there when networks register.
ParameterInfo routing_parameter() {
  return routing_key().info();
}

ParameterInfo message_overhead_parameter() {
  return message_overhead();
}

ParameterInfo collective_overhead_parameter() {
  return collective_overhead();
}

ParameterInfo collective_member_overhead_parameter() {
  return collective_member_overhead();
}

ParameterInfo collective_fill_parameter() {
  return collective_fill();
}

ParameterInfo library_parameter() {
  return library();
}

ParameterInfo nvswitch_generation_parameter() {
  return nvswitch_generation();
}

ParameterInfo nvls_parameter() {
  return nvls();
}

namespace {

collective::LibrarySettings read_library(config::Section& section) {
  constexpr std::uint32_t first_that_adds_up = 3;
  collective::LibrarySettings settings;
  settings.library = library().read(section);
  const std::uint32_t generation = nvswitch_generation().read(section);
  const bool adds_up = generation >= first_that_adds_up;
  settings.device = adds_up ? collective::LibraryDevice::hopper : collective::LibraryDevice::ampere;
  const bool asked = nvls().read(section);
  settings.nvls = adds_up && asked;
  const bool is_none = settings.library == collective::Library::none;
  if (is_none && generation != usual_generation) {
    config::note_without_effect(section, nvswitch_generation().key(), "library: none");
  }
  if (!asked && is_none) {
    config::note_without_effect(section, nvls().key(), "library: none");
  } else if (!asked && !adds_up) {
    config::note_without_effect(section, nvls().key(), "nvswitch_generation below 3");
  }
  return settings;
}

}  // namespace

Overheads read_overheads(config::Section& section) {
  return {message_overhead().read(section),
          {collective_overhead().read(section), collective_member_overhead().read(section),
           collective_fill().read(section)},
          read_library(section)};
}

std::string read_routing(config::Section& section, const machine::Machine& machine) {
  const std::string usual = machine.topology->default_routing();
  std::string name = routing_key().read(section, usual);
  const std::string problem = machine::routing_problem(name, *machine.topology);
  if (!problem.empty()) {
    section.error("routing", problem);
    name = usual;
  }
  tell_of_detours(section, name, *machine.topology);
  return name;
}

void tell_of_detours(config::Section& section, const std::string& routing,
                     const machine::Topology& topology) {
  const std::string sound = topology.sound_routing();
  if (routing == topology.default_routing() && routing != sound) {
    section.tell("routes follow '" + routing + "' instead of '" + sound +
                 "' because of machine.faults.links (" + section.path() + ".routing)");
  }
}

const config::NameKey& model_key() {
  static const config::NameKey key{"network.model", [] { return networks().names(); }, "packet",
                                   "how messages travel"};
  return key;
}

std::unique_ptr<NetworkModel> read_network(config::Section section,
                                           const machine::Machine& machine) {
  const std::string model = model_key().read(section);
  if (!networks().contains(model)) {
    return nullptr;
  }
  section.leave_keys_of_others(networks().infos(), model);
  return networks().at(model)(section, machine);
}

}  // namespace tessera::network
