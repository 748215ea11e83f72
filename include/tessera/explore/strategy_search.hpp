// Proposes the best strategy for a model on a machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/explore/candidates.hpp"
#include "tessera/explore/table/table.hpp"

namespace tessera::explore {

struct SearchRequest {
  std::string experiment;              // path
  std::vector<std::string> overrides;  // "key=value"
  std::uint64_t devices = 0;           // at most so many tiles; 0: all
  std::size_t simulated = 8;           // candidates that are simulated, each with every layout
  bool full = false;                   // see `candidates`
  std::function<bool()> stop_requested;
  std::function<void(const std::string&)> on_note;  // on rank 0
};

// A strategy, as far as it came.
struct Proposal {
  std::optional<Candidate> candidate;  // none: the experiment's own strategy
  std::string layout;
  std::string status;     // estimated, finished, refused, deadlock, failed
  std::string message;    // why it fell out
  SimTime estimate;       // see Estimator
  SimTime iteration;      // simulated, of one iteration
  double throughput = 0;  // simulated [samples/s]
  Bytes memory;           // of the tile that needs most

  std::string title() const;  // "pipeline 8, tensor 4, data 2, …"
};

struct SearchOutcome {
  std::string experiment;
  std::string machine;
  std::string workload;
  std::uint64_t devices = 0;
  std::size_t candidates = 0;
  std::size_t estimated = 0;        // of them, that fit
  std::vector<Proposal> proposals;  // simulated, the fastest first
  std::vector<Failure> fallen_out;
  std::string strategy_yaml;  // of the first; for `tessera run --set strategy=FILE`
};

// Makes the plan of every candidate, with the first layout that it fits (the usual one first);
// ranks those by their estimate; simulates the best with every layout, and the experiment's own
// strategy for comparison. Other keys of its strategy stay as they are, so that memory is checked
// unless `strategy.capacity` says otherwise. Work is spread over ranks, and the outcome is the same
// on any number of them. Throws ConfigError and IoError where machine and workload cannot be read,
// StopRequested when asked to stop.
SearchOutcome search_strategies(const SearchRequest& request, comm::Communicator& communicator,
                                const config::TextLoader& load);

// Whether a text begins as SearchOutcome::strategy_yaml does.
bool begins_as_proposal(std::string_view text);

// For a terminal.
std::string to_table(const SearchOutcome& outcome);

}  // namespace tessera::explore
