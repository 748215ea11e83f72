// The largest rate of requests at which a service meets its targets, by simulation.
//
// The rate is a key of the experiment. It is doubled while the targets are met (halved until they
// are), then the gap between the largest rate that met them and the smallest that did not is halved
// in the logarithm, until it is `within`. Targets are met when the `share` of all requests that
// meet all of their targets (first token, between tokens in the mean, latency) is reached at each
// service. Whether a rate can be kept up is seen by as many requests as are asked: a queue that
// grows makes the later ones late.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::explore {

struct CapacityRequest {
  std::string experiment;
  std::vector<std::string> overrides;
  std::string key = "workload.tenants.0.requests.rate";
  double share = 0.9;
  double within = 0.02;
  // "KEY=VALUE,...": searched at each combination.
  std::vector<std::string> over;
  std::function<bool()> stop_requested;
  std::function<void(const std::string&)> on_note;  // on rank 0
};

// One combination of values.
struct CapacityRow {
  std::vector<std::string> values;
  // met; refused, failed, or late: at the smallest rate, too; of a plan also beaten
  std::string status;
  std::string message;
  double rate = 0;    // the largest that met the targets
  double beyond = 0;  // the smallest that did not
  std::uint32_t runs = 0;
  std::vector<trace::Service> services;  // at that rate; of replicas their totals
  std::vector<std::string> notes;        // of that run: what bends its results, or has no effect
};

struct CapacityOutcome {
  std::vector<std::string> keys;
  std::vector<CapacityRow> rows;  // the largest rate first
  bool complete = true;           // else it was stopped
  std::uint64_t left = 0;         // combinations that are not searched to their end
};

// Combinations are spread over ranks; the outcome is the same on all of them and on any number.
// Collective. Throws ConfigError for an experiment without targets or without the rate, and for
// values that are none.
CapacityOutcome find_capacity(const CapacityRequest& request, comm::Communicator& communicator,
                              const config::TextLoader& load);

// Of an outcome in which no rate meets the targets: that nothing does, or that nothing could be
// tried, with the most frequent reason. `what`: of which there are several ("layout").
std::string why_none(const CapacityOutcome& outcome, const std::string& what);
// For people, in four digits.
std::string rate_text(double rate);

std::string to_table(const CapacityOutcome& outcome);
std::string to_json(const CapacityOutcome& outcome);

}  // namespace tessera::explore
