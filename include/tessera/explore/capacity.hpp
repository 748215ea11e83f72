// The largest rate of requests at which a service meets its targets, by simulation.
//
// The rate is a key of the experiment. It is doubled while the targets are met (halved until they
// are), then the gap between the largest rate that met them and the smallest that did not is halved
// in the logarithm, until it is `within`. Targets are met when the `share` of all requests that
// meet all of their targets (first token, between tokens in the mean, latency) is reached at each
// service. Whether a rate can be kept up is seen by as many requests as are asked: a queue that
// grows makes the later ones late.
//
// Where a service takes as long for all requests at two rates, one twice the other, and meets its
// targets at both, all are asked at once (at 2^24 times the experiment's rate, or as much of it as
// the key takes). Where targets are met even so, the rate limits nothing, and none is searched:
// such rows are `unlimited`, come first, and are ordered by the requests that they meet in a second
// then.
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
  // met; unlimited: with all requests at once, too; refused, failed, or late: at the smallest rate,
  // too; of a plan also beaten
  std::string status;
  std::string message;
  double rate = 0;    // the largest that met the targets
  double beyond = 0;  // the smallest that did not
  std::uint32_t runs = 0;
  std::vector<trace::Service> services;  // at that rate; of replicas their totals
  std::vector<std::string> notes;        // of that run: what bends its results, or has no effect

  bool is_unlimited() const { return status == "unlimited"; }
  bool is_met() const { return is_unlimited() || status == "met"; }
  double met_per_s() const;  // of all services
};

// Whether a row is better than the other.
bool is_better(const CapacityRow& one, const CapacityRow& other);

struct CapacityOutcome {
  std::vector<std::string> keys;
  std::vector<CapacityRow> rows;  // the best first
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
// For people, in four digits; "all at once" of a row that is unlimited.
std::string rate_text(double rate);
std::string rate_text(const CapacityRow& row);

std::string to_table(const CapacityOutcome& outcome);
std::string to_json(const CapacityOutcome& outcome);

}  // namespace tessera::explore
