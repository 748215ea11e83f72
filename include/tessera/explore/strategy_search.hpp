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
  std::size_t simulated = 0;           // candidates at most; 0: 64, and more if they are small
  bool full = false;                   // see `degrees_of_candidates`
  bool all = false;                    // simulate every candidate that fits
  std::vector<std::string> kept;       // "KEY", "KEY=VALUE,VALUE": see keep_keys
  std::string folder;                  // of the results; empty: none
  bool resume = false;                 // what is in the folder is not simulated again
  std::function<bool()> stop_requested;
  std::function<void(const std::string&)> on_note;  // on rank 0
};

// A strategy, as far as it came.
struct Proposal {
  std::optional<Candidate> candidate;  // none: the experiment's own strategy
  std::string layout;                  // of the own strategy
  std::string status;  // estimated, finished, refused, deadlock, failed, left out, stopped
  // Why it fell out; of one that finished, what a channel has no room for (plan::note_of_peaks).
  std::string message;
  SimTime bound;  // no simulation is shorter; see Forecaster
  SimTime estimate;
  SimTime iteration;      // simulated, of one iteration
  double throughput = 0;  // simulated [samples/s]
  Bytes memory;           // peak of the tile that needs most, as a run has it
  std::string tiles;      // where roles lie, of a layout that looked for it; as `placement.tiles`
  // Whether micro-batches may repeat, so that this is tried; once simulated, whether they did.
  bool repeats = true;

  std::string title() const;  // "pipeline 8, tensor 4, data 2, …"
  // Whether its tiles would hold more than there is, when they hold most.
  bool overfills() const { return status == "finished" && !message.empty(); }
};

// Why nothing fits, and what would.
struct Advice {
  std::string about;  // which candidate
  std::string where;  // what is too small, what is kept there and how much is missing
  std::vector<std::string> remedies;  // one a line
};

struct SearchOutcome {
  std::string experiment;
  std::string machine;
  std::string workload;
  std::uint64_t devices = 0;
  std::uint64_t candidates = 0;
  std::uint64_t impossible = 0;  // of them, by their layouts
  std::uint64_t too_large = 0;   // for the memory
  std::uint64_t fitting = 0;     // the others
  std::uint64_t bounded = 0;     // of these, whose bound is no shorter than the best
  std::uint64_t open = 0;        // of these, that their estimate alone rules out
  SimTime least;                 // no candidate is faster
  std::uint64_t violated = 0;    // simulations shorter than their bounds: there should be none
  double margin = 0;             // by which estimates were trusted: share of the time
  plan::Aggregation aggregation = plan::Aggregation::none;  // that it was simulated with
  bool complete = true;                                     // false: a stop was requested
  bool exhausted = true;  // false: more were worth a simulation than were asked for
  // Simulated, the fastest first; behind them the own strategy, where it alone overfills a channel.
  std::vector<Proposal> proposals;
  std::vector<Failure> fallen_out;
  std::optional<Advice> advice;  // where nothing fits, or the own strategy does not
  // Of the first; for `tessera run --set strategy=FILE`. Of a search that has not ended it says so.
  std::string strategy_yaml;
  KeptPlacement placement;  // of its settings
  std::string folder;
  // Keys of the experiment without effect: with the first, else those of machine and work; and
  // which channel the first overfills.
  std::vector<std::string> notes;

  // Candidates that may be faster and that a stop left; 0 of a search that came to its end.
  std::uint64_t left() const { return complete ? 0 : open; }
  bool by_stages() const { return aggregation == plan::Aggregation::stage; }
  // "8 of 120 candidates that fit were simulated, 57 others may be faster"
  std::string how_far() const;
};

// Cuts candidates that no layout or memory has room for; ranks the others by closed forms
// (Forecaster); simulates, eight at a time (four where each takes seconds), those that may be
// fastest, and the experiment's own strategy for comparison, where it takes no more devices than
// may be used. What is learnt of estimates on the way
// corrects those of candidates with the same degrees. Ends when no bound, or no estimate within the
// error that was seen, is below the best; or after `simulated`; without that
// number, when 64 or more have been, and taken some ten seconds by forecasts. With `all`, every
// candidate that fits is simulated (brute force, which answers are held against), and nothing else.
// Other keys of the strategy stay as they are, so that memory is checked unless `strategy.capacity`
// says otherwise. What overfills a channel of DRAM when its tiles hold most, which a run notes,
// does not fit, unless nothing else does. Work is spread over ranks, and the outcome is the same on
// any number of them. Throws ConfigError and IoError where machine and workload cannot be read or
// the folder cannot be written.
SearchOutcome search_strategies(const SearchRequest& request, comm::Communicator& communicator,
                                const config::TextLoader& load);

// What was asked for in a folder that is to be gone on with. Throws ConfigError where there is
// nothing to go on with.
SearchRequest request_in(const std::string& folder);

// Whether a text begins as SearchOutcome::strategy_yaml does.
bool begins_as_proposal(std::string_view text);

// For a terminal.
std::string to_table(const SearchOutcome& outcome);
std::string to_text(const Advice& advice);
// For programs.
std::string to_json(const SearchOutcome& outcome);

}  // namespace tessera::explore
