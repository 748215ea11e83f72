// What `tessera traffic` and the workload `traffic` have in common: where messages go, how large
// they are, and what their rates count in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/sim/traffic/traffic.hpp"

namespace tessera::sim {

struct TrafficKeys {
  config::NameKey pattern{"pattern", [] { return network::traffic_patterns().names(); }, "uniform",
                          "pattern of the destinations of messages"};
  config::NameKey process{"process", [] { return network::injection_processes().names(); },
                          "bernoulli", "process by which messages are injected"};
  config::Key<std::uint64_t> message{"message", TrafficLoad{}.message_flits, "flits per message",
                                     config::between<std::uint64_t>(1, 1'000'000)};
  config::DerivedKey<Bytes> flit_size{"flit_size",
                                      "the network's, else " + to_string(network::usual_flit),
                                      "size of a flit", config::at_least(Bytes(1))};
  config::DerivedKey<SimTime> cycle{"cycle", "time of a flit on the fastest link",
                                    "cycle time, the unit of rates and latencies",
                                    config::at_least(SimTime::from_ps(1))};
  config::Key<std::uint64_t> seed{"seed", TrafficLoad{}.seed, "seed of the random numbers"};
};

// Made when they are first asked for: tables in other files have them before main.
const TrafficKeys& traffic_keys();

// All nodes that compute.
network::TrafficNodes nodes_of(const machine::Topology& topology);

// Complaints go to the diagnostics of the section; the pattern is null after some.
void read_load(TrafficLoad& load, config::Section& section, const machine::Topology& topology,
               const network::NetworkModel& network, const network::TrafficNodes& nodes);
// At so many flits a node and cycle, as the key of that name says; null after complaints.
std::unique_ptr<network::InjectionProcess> read_process(const TrafficLoad& load, double rate,
                                                        const std::string& key,
                                                        config::Section& section);
// Notes keys of patterns and processes that were not taken.
void leave_other_keys(const TrafficLoad& load, config::Section& section);

}  // namespace tessera::sim
