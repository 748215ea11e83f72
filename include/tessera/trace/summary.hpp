// summary.json: what a run found out, and what it cost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/trace/store/segment.hpp"

namespace tessera::trace {

// Tile time of one group of tiles by activity. The shares add up to one: every instant of every
// tile up to the end of the run belongs to one activity.
struct Breakdown {
  std::string name;  // "total", "stage 3"
  std::uint64_t tiles = 0;
  // Activity and its time, mean over the tiles, rounded down [ps].
  std::vector<std::pair<std::string, std::uint64_t>> mean_ps;
};

// When a tile of a stage, or an NPU of a service, holds most.
struct PeakMemory {
  std::string name;         // "stage 3", or of the service
  std::uint64_t bytes = 0;  // in all
  std::string phase;        // of the pass; empty: of a service, which has none
  std::uint64_t micro_batch = 0;
  std::uint64_t chunk = 0;
  std::vector<std::pair<std::string, std::uint64_t>> parts;  // [B]; their sum is `bytes`
  friend bool operator==(const PeakMemory&, const PeakMemory&) = default;
};

// Of some times [ps]: quantiles by nearest rank. All 0 when there are none.
struct Quantiles {
  std::uint64_t count = 0;
  std::uint64_t mean = 0;  // rounded down
  std::uint64_t p50 = 0;
  std::uint64_t p90 = 0;
  std::uint64_t p95 = 0;
  std::uint64_t p99 = 0;
  std::uint64_t most = 0;
};

// Of a service, in a part of the time of the run.
struct ServiceWindow {
  std::uint64_t arrived = 0;  // requests
  std::uint64_t served = 0;
  std::uint64_t met = 0;     // of these, that met all targets
  std::uint64_t tokens = 0;  // given
  // Means over the width of a window.
  double running = 0;  // requests
  double waiting = 0;
  double cache_blocks = 0;
  double replicas = 0;  // that are on; of classes 0
  // Of requests that were served in it.
  Quantiles first_token;
  Quantiles a_token;  // the mean of each request after its first token
  Quantiles latency;  // from arrival to end
};

// How a tenant's requests were served.
struct Service {
  std::string tenant;
  std::uint64_t served = 0;         // requests
  std::uint64_t samples = 0;        // of models that are no language models
  std::uint64_t tokens = 0;         // given
  std::uint64_t again = 0;          // times that a request gave its cache back
  std::uint64_t late_requests = 0;  // whose first token or end came later than the target, once
  std::uint64_t late_tokens = 0;    // that came later after the one before than the target
  std::uint64_t cache_blocks = 0;   // most that were taken
  // Requests that met all targets; of a replica that computes prompts alone those that met the one
  // of the first token.
  std::uint64_t met = 0;
  std::uint64_t npus = 0;  // that served it
  double met_per_s = 0;    // requests
  // None: no price is given, or there are no tokens.
  std::optional<double> cost_a_million_tokens;
  double on_s = 0;        // that replicas were on, added up; of classes 0
  Quantiles first_token;  // since the arrival
  Quantiles between_tokens;
  Quantiles a_token;  // the mean of each request after its first token
  Quantiles latency;  // from arrival to end
  // Over time, each as wide; the service was there for `last_window_ps` of the last one.
  std::uint64_t window_ps = 0;
  std::uint64_t last_window_ps = 0;
  std::vector<ServiceWindow> windows;
};

// One of several jobs that shared the machine.
struct TenantResult {
  std::string name;
  std::string workload;
  std::uint64_t tiles = 0;
  std::uint32_t iterations = 0;
  std::int64_t start_ps = 0;           // when it began, and when its last iteration was over
  std::int64_t end_ps = 0;             // 0: it did not come to its end
  std::int64_t iteration_time_ps = 0;  // mean, rounded up; 0: the same
  double throughput_samples_per_s = 0;
  double achieved_flops_per_s = 0;
  double peak_flops_per_s = 0;  // of its tiles
  // As of the summary.
  std::uint64_t samples_per_iteration = 0;
  double flops_per_iteration = 0;
  double executed_flops_per_iteration = 0;
};

// What work has measured, under a name of its own that ends in its unit, if it has one
// ("latency_mean_ps").
struct Measure {
  std::string name;
  std::variant<std::uint64_t, double> value;
};

// That of a job.
struct Measured {
  std::string tenant;  // empty: it had all of the machine
  std::vector<Measure> measures;
};

struct Summary {
  std::string status;   // running, finished, stopped, deadlock, failed
  std::string message;  // why, when it is not finished
  std::string experiment;
  std::string machine;
  std::string workload;
  std::vector<std::string> notes;  // what bends the result: what levels leave out, and the like
  std::int64_t simulated_time_ps = 0;
  std::int64_t iteration_time_ps = 0;
  std::int64_t ideal_time_ps = 0;  // lower bound on an iteration: arithmetic only
  std::uint32_t iterations = 0;
  std::uint64_t replayed_micro_batches = 0;  // of an iteration, in each replica; not simulated
  double throughput_samples_per_s = 0;
  // Inference: without set-up and drain, from the first result to the last; 0: not known.
  double steady_throughput_samples_per_s = 0;
  double achieved_flops_per_s = 0;
  double peak_flops_per_s = 0;  // of the tiles in use
  std::uint64_t samples_per_iteration = 0;
  std::uint64_t tokens_per_iteration = 0;   // of language models that are planned; else 0
  double flops_per_iteration = 0;           // of the model, in which nothing is computed twice
  double executed_flops_per_iteration = 0;  // by all tiles
  // Of the whole run; none: not counted.
  std::optional<std::uint64_t> message_bytes;
  std::optional<std::uint64_t> collective_bytes;
  std::optional<std::uint64_t> memory_read_bytes;
  std::optional<std::uint64_t> memory_written_bytes;
  // All that memories moved, operands that operations read and write in DRAM among it.
  std::optional<double> memory_bytes;
  std::vector<Breakdown> breakdown;  // total first, then each stage
  // Of all devices in an iteration, and in the mean what one draws; 0: not known.
  double energy_j_per_iteration = 0;
  double power_w_per_tile = 0;
  std::vector<PeakMemory> peak_memory;  // of each stage of a plan and each service; none: unknown
  std::vector<TenantResult> tenants;    // none: one job had all of the machine
  std::vector<Service> services;        // of tenants whose requests are served
  std::vector<Service> service_totals;  // of models with replicas, of all of them
  std::vector<Measured> measured;       // of jobs that measure something
  std::uint64_t tiles = 0;
  std::uint64_t events = 0;
  std::uint64_t packet_hops = 0;
  std::uint64_t messages = 0;
  std::uint64_t windows = 0;  // of the rank with most
  std::uint64_t rounds = 0;
  std::uint64_t waits = 0;  // of the rank that had to wait for others most often
  std::uint64_t remote_events = 0;
  double waiting_s = 0;  // mean over ranks
  double wall_s = 0;     // of the simulation itself, summed over the segments like all costs
  double cpu_s = 0;      // of all ranks, whole process
  double events_per_s = 0;
  int ranks = 0;
  std::string communicator;
  std::string partition;
  std::string weights;
  std::string synchronization;
  std::uint64_t links = 0;                    // directed, of the machine
  std::uint64_t cut_links = 0;                // of them between different ranks
  double imbalance = 0;                       // heaviest rank over the mean, by the weights
  std::vector<std::uint64_t> rank_events;     // [ranks] handled
  std::vector<SegmentCost> segments;          // more than one when the run was stopped and went on
  std::vector<std::uint64_t> peak_rss_bytes;  // [ranks] of the last segment
  std::uint64_t predicted_bytes = 0;          // of the largest rank
  std::string result_digest;
  std::string trace;  // none, summary, full
  std::string version;
  std::string git_hash;
  std::string mpi;
  std::string hdf5;
};

// The text of summary.json: the members above under their names, and
//   breakdown  {"total": G, "stages": [G with a "name", …]}, where a group G is
//              {"tiles": n, ACTIVITY: {"mean_ps": t, "share": of the group's sum}, …}
//   peak_memory {"bytes": of the stage that holds most, "stages": [its members, and {PART:
//   bytes}]},
//              absent where it is not known
//   tenants    [{its members under their names}, …]
//   measured   [{"tenant": its name, MEASURE: number, …}, …]
//   versions   {"tessera", "git", "mpi", "hdf5"}
// before them "file_type" and "format_version". Integers are exact; a number that is not finite, or
// not counted, is null; what is no UTF-8 becomes U+FFFD.
std::string to_json(const Summary& summary);

// Throws IoError when the file cannot be read, is no summary, or of another major format. Keys it
// does not know mean nothing, and all but the file's type and the status may be missing.
Summary read_summary(const std::string& path);

// The summary as text for a terminal; of more than twelve stages the first and last five.
std::string to_table(const Summary& summary);
// Notes as people are told them: a file of a machine has constants for all kinds of work, and each
// work leaves some aside, so that of two or more keys of a section without effect one note names
// all. Programs get each with its reason.
std::vector<std::string> notes_for_people(const std::vector<std::string>& notes);

}  // namespace tessera::trace
