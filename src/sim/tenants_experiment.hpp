// Experiments whose workload is `tenants`: several jobs at a time, each on tiles of its own.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "job_reader.hpp"
#include "tessera/config/document.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

inline constexpr const char* tenants_kind = "tenants";

bool has_tenants(const config::Value& workload);

// Reads
//   workload: {kind: tenants, name: text, tenants: [{name: text, tiles: ..., start: 0 ps,
//              iterations: n, workload: {...}, strategy: {...}, execution: {...}}, ...]}
// Tiles are one item or a list of items: those of machine::NodeList, the name of a type of tiles,
// or `all`. Their order is that of NPUs, cores and roles. No two tenants share a tile. `iterations`
// are those of the run unless given; of requests 1.
class TenantsReader {
 public:
  // `section` is the whole experiment's. Fills experiment.tenants; the experiment, with machine and
  // models, must outlive it.
  TenantsReader(Experiment& experiment, config::Section section, config::Section machine,
                const config::TextLoader& load);

  // Complaints go to the diagnostics of the section. False after some that left keys unread.
  bool read();
  void apply(const RunOptions& options);
  // After no complaint: makes the plans.
  void plan();

 private:
  struct Reading {
    config::Section section;
    std::optional<std::int64_t> iterations;  // none: those of the run
    JobReader reader;
  };

  bool read_tenant(config::Section& section);
  std::string read_name(config::Section& section);
  std::vector<EntityId> read_tiles(config::Section& section, const std::string& tenant);

  Experiment& experiment_;
  config::Section section_;
  config::Section machine_;
  const config::TextLoader& load_;
  std::vector<Reading> readings_;  // [tenants] of those that could be read
  std::vector<std::string> names_;
  std::map<EntityId, std::string> owner_of_;  // names of tenants, by tile
};

}  // namespace tessera::sim
