// The largest rate of requests at which a service meets its targets, by simulation.
//
// The rate is a key of the experiment. It is doubled while the targets are met (halved until they
// are), then the gap between the largest rate that met them and the smallest that did not is halved
// in the logarithm, until it is `within`. A rate is met where at each service
// - the `share` of all requests meet all of their targets (first token, between tokens in the mean,
//   latency), and
// - the service keeps up: as long as requests arrive, those that are there do not become more and
//   more (keeping_up.hpp). Without that a rate is what a burst of so many requests can stand.
//
// Where requests meet their targets, and it is not seen whether the service keeps up, the same rate
// is tried with twice as many requests (four times, and so on, 64 times at most), where arrivals
// are drawn and not of a list or a file. What cannot be shown is not met. The rate that is found is
// confirmed at last with eight times as many requests, or lowered or raised until it is.
//
// Where targets are missed at the first rate and at half of it, requests that hardly overlap are
// tried: where they are late too, no rate is low enough.
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
  // That of the only job of a list may be written as if the job had no list.
  std::string key = "workload.tenants.0.requests.rate";
  // What keys of the service begin with where it is the only job of a list, else "". Searches find
  // it themselves.
  std::string job;
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
  // met; refused, failed, or late: not at the smallest rate either; of a plan also beaten
  std::string status;
  std::string message;
  double rate = 0;    // the largest that met the targets
  double beyond = 0;  // the smallest that did not
  // Times the experiment's number of requests, with which the service is seen to keep up the rate.
  std::uint32_t times_count = 1;
  std::uint32_t runs = 0;
  std::vector<trace::Service> services;  // at that rate; of replicas their totals
  std::vector<std::string> notes;        // of that run: what bends its results, or has no effect

  bool is_met() const { return status == "met"; }
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
// values that are none, or where the service is one of several jobs.
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
