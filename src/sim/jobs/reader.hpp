// Reads the jobs of an experiment: the one that has the machine, or a list of several.
#pragma once

#include <memory>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

// Parts that the mapping of a job must have, by its kind; of a kind that is not there `workload`.
std::vector<const char*> needed_parts(const config::Value& job);

class JobsReader {
 public:
  // `section` is the whole experiment's. Fills experiment.jobs; the experiment, with machine and
  // models, must outlive it.
  JobsReader(Experiment& experiment, config::Section section, config::Section machine,
             const config::TextLoader& load);

  // Complaints go to the diagnostics of the section. False after some that left keys unread.
  bool read();
  // Whether any of them keeps tensors in the memory of hosts.
  bool uses_host() const;
  // Whether any of them accesses memory by lines.
  bool uses_coherence() const;
  // Whether any of them accesses memory that is not its tiles' own.
  bool uses_remote_memory() const;
  // Whether any of them states what tiles hold of a plan.
  bool uses_framework() const;
  // What any of them has.
  compute::WorkTraits traits() const;
  // When the options of the run were read.
  void apply(const RunOptions& options);
  // After no complaint and when all sections were finished: makes plans, shares out memories and
  // numbers. Complains as `read`, and throws ConfigError.
  void plan();

 private:
  struct Reading {
    JobEntry entry;
    std::unique_ptr<JobReader> reader;
  };

  std::vector<JobEntry> entries(const WorkKind& kind, bool& is_whole);
  bool read_job(JobEntry entry);
  void place_graphs(JobReader& reader, PlacedJob& placed);
  void note_unused_iterations(const RunOptions& options);
  void check_iterations(const Reading& reading, const Job& job);

  Experiment& experiment_;
  config::Section section_;
  config::Section machine_;
  const config::TextLoader& load_;
  std::vector<Reading> readings_;  // [jobs] of those that could be read
};

}  // namespace tessera::sim
