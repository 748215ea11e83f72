// A benchmark case: what it is called, what it can be asked, and how it is run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fields.hpp"
#include "measure.hpp"
#include "options.hpp"
#include "tessera/comm/communicator.hpp"

namespace tessera::bench {

// The options that every case has.
struct Setting {
  std::string engine;  // "tessera", "reference", "both" or another of the case's own
  std::string policy;
  unsigned repeats = 1;
  std::uint64_t seed = 0;
  bool ranks_are_threads = false;
};

struct Report {
  std::string name;  // of the case
  Fields parameters;
  Measurement run;
  Fields fields;                         // instead of `run`, of a case that measures other things
  std::optional<Measurement> reference;  // of --engine both
};

struct Case {
  std::string name;
  std::string help;
  std::vector<std::string> engines;
  void (*describe)(OptionList& options);
  // Collective; the report is whole on rank 0.
  Report (*run)(const CaseOptions& options, const Setting& setting,
                comm::Communicator& communicator);
};

// "tessera", "reference", "both".
const std::vector<std::string>& engines_of_models();

Case phold_case();
Case hold_case();
Case mesh_case();
Case ring_case();
Case flits_case();
Case flows_case();
Case loggops_case();
Case sparse_case();
Case idle_case();
Case systolic_case();
Case dram_case();

}  // namespace tessera::bench
