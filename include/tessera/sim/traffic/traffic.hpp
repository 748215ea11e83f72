// Latency and throughput of a network under synthetic traffic.
//
// Method: after a warm-up, messages are measured sample by sample until mean latency and accepted
// rate change by less than a threshold from one sample to the next, three times in a row; traffic
// goes on until every measured message has come (W. Dally, B. Towles, "Principles and Practices of
// Interconnection Networks", 2004, section 23.4; the procedure of BookSim 2). The mean covers all
// samples after the warm-up. Every node sends whether messages wait or not (an open loop).
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/network/network.hpp"
#include "tessera/network/traffic/traffic.hpp"
#include "tessera/trace/traffic_report.hpp"

namespace tessera::sim {

// How long one point is simulated.
struct TrafficPhases {
  std::uint64_t sample_cycles = 1000;
  std::uint32_t warmup_samples = 3;  // 0: until a sample is like the one before
  std::uint32_t most_samples = 10;   // warm-up included
  double threshold = 0.05;           // relative change
  double latency_limit = 500;        // cycles: unstable beyond
  bool throughput = false;           // no limit on latency: what is accepted, however long it takes
};

// What nodes send, whatever the rate.
struct TrafficLoad {
  std::string pattern_name;
  std::string process_name;
  std::unique_ptr<network::TrafficPattern> pattern;
  std::uint64_t message_flits = 1;
  Bytes flit;
  SimTime cycle;
  std::uint64_t seed = 1;
};

struct TrafficExperiment : TrafficLoad {
  machine::Machine machine;
  std::string network_name;
  std::unique_ptr<network::NetworkModel> network;
  std::string partition;
  std::vector<double> rates;                                          // flits a node and cycle
  std::vector<std::unique_ptr<network::InjectionProcess>> processes;  // by rate
  TrafficPhases phases;
  std::vector<std::string> notes;  // keys without effect, and what the network leaves out
};

// Keys of the `traffic` section beside those of patterns and processes.
std::vector<ParameterInfo> traffic_parameters();
// Those of all patterns and processes.
std::vector<ParameterInfo> pattern_and_process_parameters();

// A file with `machine` and `traffic`; overrides as read_experiment. Throws as that.
TrafficExperiment read_traffic(const std::string& path, const std::vector<std::string>& overrides,
                               const config::TextLoader& load);

// Simulates every rate in turn, on all ranks; the result is the same on every rank but for the
// processor time. Ends early, with the points that are done, when `stop_requested` says so on any
// rank. `on_point` is called on rank 0.
trace::TrafficReport measure_traffic(
    const TrafficExperiment& experiment, comm::Communicator& communicator,
    const std::function<bool()>& stop_requested,
    const std::function<void(const trace::TrafficPoint&)>& on_point);

}  // namespace tessera::sim
