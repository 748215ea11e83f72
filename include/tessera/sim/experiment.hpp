// An experiment as described: machine, workload, strategy, models and run options, read and
// checked.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/compute/compute.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/executor/graph.hpp"
#include "tessera/executor/serving.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/memory/coherence.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/remote.hpp"
#include "tessera/network/network.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::sim {

enum class TraceLevel : std::uint8_t { none, summary, full };

// The `run` section.
//   iterations  1        training steps to simulate
//   trace       summary  none; summary: operators of one tile a stage, links and channels by time
//                        bin; full: operators of every tile and all messages too
//   bins        64       time bins of links and channels that are aimed at; where a run is longer
//                        than expected, later bins are longer
//   bin         -        length of a bin, instead
//   partition   auto     how the machine is cut over ranks: see cuts.hpp
//   weights     predicted  none, predicted (events of each node, from the plan), or the path of a
//                        run folder or its node_events.txt (events of each node, measured)
//   synchronization  promise
//   replay      none     none, or exact: micro-batches that repeat are not simulated; see
//   replay.hpp
struct RunOptions {
  std::uint32_t iterations = 1;
  TraceLevel trace = TraceLevel::summary;
  std::uint32_t bins = 64;
  std::optional<SimTime> bin;
  std::string partition;
  bool idle_ranks = true;  // those that do not pay, where `partition` chooses
  std::string weights;
  std::string synchronization;  // name of a pdes::SyncPolicy
  bool replay = false;
};

std::vector<ParameterInfo> run_parameters();
// Of the section `execution`, which experiments have whose workload is graphs.
std::vector<ParameterInfo> execution_parameters();

// Of each of the workload's `tenants`.
std::vector<ParameterInfo> tenant_parameters();

// A model that the operators of a chip were lowered from.
struct ModelLook {
  std::string path;
  std::string level;  // of optimisation
  std::uint64_t file_nodes = 0;
  std::uint64_t nodes = 0;  // of the optimised graph
  std::uint64_t views = 0;  // of those, that nothing has to be done for
  std::uint64_t parameters = 0;
  Flops matrix;
  Flops vector;
  Bytes traffic;                     // each tensor once for each node that reads or writes it
  std::vector<std::string> unknown;  // nodes that cost memory traffic alone
  std::vector<std::string> notices;
};

// What tiles have to do, on a machine of their own or as one tenant of several: the programs of a
// plan, graphs, or operators on a chip.
struct Job {
  workload::Workload workload;                     // of programs; of others it has a name alone
  plan::Plan plan;                                 // of programs; else empty
  std::unique_ptr<executor::GraphWork> graph;      // null: programs, or a chip
  std::unique_ptr<executor::ChipWork> chip;        // null: no operators on a chip
  std::unique_ptr<executor::ServingWork> serving;  // null: no requests
  std::optional<ModelLook> model;                  // of a chip whose operators are those of a model
  std::vector<Bytes> in_channels;                  // [channels] that programs keep there, or empty
  std::uint32_t iterations = 1;
  SimTime ideal_time;  // of an iteration
};

// One of several jobs that share a machine, on tiles of its own.
struct Tenant {
  std::string name;
  std::vector<EntityId> tiles;
  SimTime start;
  Job job;
};

// Everything of one experiment but the number of ranks: a machine, and a job that has all of it, or
// tenants. Immutable after reading.
struct Experiment : Job {
  std::string name;
  machine::Machine machine;
  std::unique_ptr<network::NetworkModel> network;
  std::unique_ptr<memory::MemoryModel> memory;
  std::unique_ptr<memory::RemoteMemory> remote_memory;  // null: the machine has none
  std::optional<memory::Coherence> coherence;           // of memory nodes
  std::unique_ptr<compute::ComputeModel> compute;
  std::vector<Tenant> tenants;  // then the experiment's own job has a name and times alone
  RunOptions options;
  std::vector<std::uint64_t> measured_events;  // [nodes] where weights are a path, else empty
  std::string resolved;                        // the configuration with all defaults, as YAML
  SimTime lookahead;

  // Hash of the resolved configuration.
  std::string configuration_hash() const;
};

// The configuration of an experiment as given: its file, with the files of its parts put in and
// `overrides` applied as below. Only its syntax is checked. Throws as read_experiment.
config::Value read_configuration(const std::string& path, const std::vector<std::string>& overrides,
                                 const config::TextLoader& load);

// Reads an experiment file and the files it names (`machine`, `workload` and `strategy` may each be
// a path, relative to the file that names it, or stand inline), applies `overrides`
// ("key.path=value", in order), checks everything and makes the plan. Throws ConfigError with every
// complaint found, also that a file cannot be read.
Experiment read_experiment(const std::string& path, const std::vector<std::string>& overrides,
                           const config::TextLoader& load);

// Reads back the experiment of a run folder. Throws ConfigError when the folder is of no run, or
// its configuration is not as the run wrote it.
Experiment read_run_folder(const std::string& folder, const config::TextLoader& load);

// Cuts the machine in another way, which changes no result; the configuration and its hash stay.
// Throws ConfigError when there is no such name or it cannot cut this machine and its work.
void use_partition(Experiment& experiment, const std::string& name);
// Keeps ranks in step in another way; the same holds.
void use_synchronization(Experiment& experiment, const std::string& name);

// Plans the same work again with another number of micro-batches. The configuration stays.
void use_micro_batches(Experiment& experiment, std::uint32_t micro_batches);

}  // namespace tessera::sim
