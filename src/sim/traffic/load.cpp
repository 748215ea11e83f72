#include "traffic/load.hpp"

#include <algorithm>

namespace tessera::sim {
namespace {

using config::Section;

constexpr double least_rate = 1e-12;  // [messages a node and cycle]: gaps are counted in 64 bits

// A flit a cycle is what the fastest link carries, unless the file says otherwise.
void read_units(TrafficLoad& load, Section& section, const machine::Topology& topology,
                const network::NetworkModel& network) {
  std::uint64_t fastest = 1;
  for (const machine::LinkClass& link_class : topology.link_classes()) {
    fastest = std::max(fastest, link_class.bandwidth.bytes_per_second());
  }
  load.flit = traffic_keys().flit_size.read(section, network.flit_size());
  load.cycle = traffic_keys().cycle.read(
      section, std::max(SimTime::from_ps(1),
                        serialization_time(load.flit, Bandwidth::bytes_per_second(fastest))));
}

}  // namespace

const TrafficKeys& traffic_keys() {
  static const TrafficKeys keys;
  return keys;
}

std::vector<ParameterInfo> pattern_and_process_parameters() {
  std::vector<ParameterInfo> all;
  for (const auto& parts :
       {network::traffic_patterns().infos(), network::injection_processes().infos()}) {
    for (const PartInfo& part : parts) {
      all.insert(all.end(), part.parameters.begin(), part.parameters.end());
    }
  }
  return all;
}

network::TrafficNodes nodes_of(const machine::Topology& topology) {
  network::TrafficNodes nodes;
  nodes.nodes = topology.computing_nodes();
  if (const auto grid = topology.grid()) {
    nodes.rows = grid->rows;
    nodes.columns = grid->columns;
  }
  return nodes;
}

void read_load(TrafficLoad& load, Section& section, const machine::Topology& topology,
               const network::NetworkModel& network, const network::TrafficNodes& nodes) {
  const TrafficKeys& keys = traffic_keys();
  read_units(load, section, topology, network);
  load.message_flits = keys.message.read(section);
  load.seed = keys.seed.read(section);
  load.pattern_name = keys.pattern.read(section);
  load.process_name = keys.process.read(section);
  if (network::traffic_patterns().contains(load.pattern_name)) {
    load.pattern = network::traffic_patterns().at(load.pattern_name)(section, nodes);
  }
}

std::unique_ptr<network::InjectionProcess> read_process(const TrafficLoad& load, double rate,
                                                        const std::string& key, Section& section) {
  if (!network::injection_processes().contains(load.process_name)) {
    return nullptr;
  }
  const double messages = rate / static_cast<double>(load.message_flits);
  if (!(messages >= least_rate) || messages > 1) {
    section.error(key, "rates are at least 1e-12, and at most a message a node and cycle");
    return nullptr;
  }
  return network::injection_processes().at(load.process_name)(section, messages);
}

void leave_other_keys(const TrafficLoad& load, Section& section) {
  section.leave_keys_of_others(network::traffic_patterns().infos(), load.pattern_name);
  section.leave_keys_of_others(network::injection_processes().infos(), load.process_name);
}

}  // namespace tessera::sim
