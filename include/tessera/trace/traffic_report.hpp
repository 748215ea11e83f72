// What `tessera traffic` measured: one point for each offered load.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::trace {

// Latencies are from the cycle in which a message is sent, waiting at its sender included, to that
// in which all of it has come [cycles]; rates are [flits / (node · cycle)].
struct TrafficPoint {
  double rate = 0;  // offered
  // "steady"; "not steady": the last samples still differed; "unstable": messages wait longer than
  // the limit; "overload": throughput was asked for, and less is accepted than sources drew;
  // "deadlock": nothing moves any more, though messages wait.
  std::string status;
  double latency = 0;
  double latency_least = 0;
  double latency_most = 0;
  double sent_rate = 0;
  double accepted_rate = 0;
  std::uint64_t measured = 0;  // messages
  std::uint64_t cycles = 0;    // simulated
  std::uint64_t hops = 0;      // flits through routers; packets over links, in other models
  std::uint64_t events = 0;
  double cpu_s = 0;  // of all ranks
};

struct TrafficReport {
  std::string machine;
  std::string network;
  std::string pattern;
  std::string process;
  std::uint64_t nodes = 0;
  std::uint64_t message_flits = 0;
  std::uint64_t flit_bytes = 0;
  std::uint64_t cycle_ps = 0;
  std::uint64_t seed = 0;
  int ranks = 1;
  std::uint64_t network_bytes = 0;  // state of all routers
  std::vector<TrafficPoint> points;
  std::vector<std::string> notes;  // what bends the result
};

std::string to_table(const TrafficReport& report);
std::string to_csv(const TrafficReport& report);
std::string to_json(const TrafficReport& report);
// Whether a file that begins like this is one of these.
bool begins_as_traffic_report(std::string_view beginning);

}  // namespace tessera::trace
