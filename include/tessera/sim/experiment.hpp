// An experiment as described: machine, workload, strategy, models and run options, read and
// checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/sim/job.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// Summary: operators of one tile a stage, links and channels by time bin. Full: operators of every
// tile and all messages too.
enum class TraceLevel : std::uint8_t { none, summary, full };

// The `run` section.
struct RunOptions {
  std::uint32_t iterations = 1;  // to simulate
  TraceLevel trace{};
  std::uint32_t bins = 64;     // that are aimed at; of a run longer than expected, later ones grow
  std::optional<SimTime> bin;  // length of one, instead
  std::string partition;       // see cuts.hpp
  bool idle_ranks = true;      // those that do not pay, where `partition` chooses
  // none, predicted (events of each node, from the plan), or the path of a run folder or its
  // node_events.txt (events of each node, measured)
  std::string weights;
  std::string synchronization;  // name of a pdes::SyncPolicy
  bool replay = false;          // see replay.hpp
};

std::vector<ParameterInfo> run_parameters();
// Of the section `execution`, which experiments have whose workload is graphs.
std::vector<ParameterInfo> execution_parameters();

// Of each of the workload's `tenants`.
std::vector<ParameterInfo> tenant_parameters();

// A job in its place: on some tiles, from some time on.
struct PlacedJob {
  std::string name;  // empty: it has the machine alone
  machine::NodeOrder tiles;
  SimTime start;
  std::unique_ptr<Job> job;
};

// Everything of one experiment but the number of ranks: a machine with its models, and a list of
// jobs. Immutable after reading.
struct Experiment : Platform {
  std::string name;
  std::string workload;  // its name
  std::string kind;      // of the workload
  std::vector<PlacedJob> jobs;
  RunOptions options;
  std::vector<std::uint64_t> measured_events;  // [nodes] where weights are a path, else empty
  std::string resolved;                        // the configuration with all defaults, as YAML
  std::vector<std::string> notes;              // of reading it: keys without effect
  // What its keys name that is read beside the configuration and results depend on, from the root:
  // files, and what names of files begin with.
  std::vector<std::string> files;

  // The job that has the machine alone; null: jobs have names and share it.
  const Job* only_job() const;
  Job* only_job();
  // The job that is the only one there is, alone or a list of one; null: there are several.
  const Job* single_job() const;
  Job* single_job();
  // What a strategy made of the single job; null: it is other work, or there are several.
  const PlannedWork* planned() const;
  // Throws InternalError where there is none.
  const plan::Plan& plan() const;
  // Of an iteration of the single job, or until the last of several is over; zero: not known.
  SimTime ideal_time() const;
  // Of the whole run.
  SimTime ideal_span() const;
  // When the first iteration begins: when the single job does; several begin with the run.
  SimTime begin() const;
  // Hash of the resolved configuration.
  std::string configuration_hash() const;
};

// The configuration of an experiment as given: its file, with the files of its parts put in and
// `overrides` applied as below. Only its syntax is checked. Throws as read_experiment.
config::Value read_configuration(const std::string& path, const std::vector<std::string>& overrides,
                                 const config::TextLoader& load);

// Its name alone, by which its folders go. Throws as read_experiment where that is no good.
std::string name_of_experiment(const std::string& path, const std::vector<std::string>& overrides,
                               const config::TextLoader& load);

// As read_configuration, and a list of one job becomes that job as an experiment of its own: its
// workload, strategy and execution stand where those of an experiment do, and its name, tiles and
// start are gone. `settings` apply to what that gives.
config::Value read_single_job(const std::string& path, const std::vector<std::string>& overrides,
                              const std::vector<std::string>& settings,
                              const config::TextLoader& load);

// What keys of that job begin with in settings of the experiment as it stands, "" where it is no
// list of one.
std::string path_of_single_job(const std::string& path, const std::vector<std::string>& overrides,
                               const config::TextLoader& load);

// Reads an experiment file and the files it names (`machine`, `workload` and `strategy` may each be
// a path, relative to the file that names it, or stand inline), applies `overrides`
// ("key.path=value", in order), checks everything and makes the plan. Throws ConfigError with every
// complaint found, also that a file cannot be read.
Experiment read_experiment(const std::string& path, const std::vector<std::string>& overrides,
                           const config::TextLoader& load);

// As read_single_job puts it together.
Experiment read_single_job_experiment(const std::string& path,
                                      const std::vector<std::string>& overrides,
                                      const std::vector<std::string>& settings,
                                      const config::TextLoader& load);

// Reads back the experiment of a run folder, `resolved` as it stands there. Keys that it lacks
// because an older program wrote it are at their defaults, and noted. Throws ConfigError when the
// folder is of no run, or its configuration is otherwise not as the run wrote it.
Experiment read_run_folder(const std::string& folder, const config::TextLoader& load);

// Cuts the machine in another way, which changes no result; the configuration and its hash stay.
// Throws ConfigError when there is no such name or it cannot cut this machine and its work.
void use_partition(Experiment& experiment, const std::string& name);
// Keeps ranks in step in another way; the same holds.
void use_synchronization(Experiment& experiment, const std::string& name);

}  // namespace tessera::sim
