// Reads one job of an experiment: all there is to do on a machine, or what one tenant does.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Whether the workload of a job is cut by a strategy.
bool is_cut(const config::Value& workload);
// Parts that the mapping of a job must have: `strategy` where its workload is cut by one.
std::vector<const char*> needed_parts(const config::Value& workload);

class JobReader {
 public:
  // Nodes that a job may use.
  struct Tiles {
    std::vector<EntityId> nodes;  // in the order of its NPUs, cores and roles
    bool are_all = true;          // that compute
  };

  // Of the experiment's machine and models. `section` holds `workload`, `strategy` and `execution`;
  // `machine` is for complaints about what the machine lacks. The experiment must outlive it.
  JobReader(const Experiment& experiment, config::Section section, config::Section machine,
            Tiles tiles, const config::TextLoader& load);

  // Reads and checks. Complaints go to the diagnostics of the section; ConfigError for those of
  // trace files. False after complaints that left keys unread.
  bool read(Job& job);
  // After no complaint and all sections were finished: makes the plan. Throws ConfigError.
  void plan(Job& job);
  // Then, of a job that has all memories: gives what is left in them to caches. Complains as
  // `read`.
  void fit(Job& job);

  // Why micro-batches of this job cannot be replayed; "" when they can.
  std::string replay_objection() const;

 private:
  bool read_programs(Job& job);
  void read_graphs(Job& job);
  void read_chip(Job& job);
  bool read_served(Job& job);
  void refuse_cutting();
  void check_peaks(const workload::Workload& workload);
  ConfigError placed(const ConfigError& error);

  const Experiment& experiment_;
  config::Section section_;
  config::Section machine_;
  Tiles tiles_;
  const config::TextLoader& load_;
  std::optional<plan::Strategy> strategy_;  // of programs
  std::string replay_objection_;
};

// Why a job cannot be run as often as it says; "" when it can.
std::string iterations_objection(const Job& job);

// Of an iteration of a plan, see plan::placed_time.
SimTime estimated_iteration(const Experiment& experiment, const plan::Plan& plan);

plan::Plan plan_of(const Experiment& experiment, const workload::Workload& workload,
                   const plan::Strategy& strategy);

// What nodes are, each kind once.
std::vector<const machine::Tile*> kinds_of(const machine::Machine& machine,
                                           const std::vector<EntityId>& nodes);

}  // namespace tessera::sim
