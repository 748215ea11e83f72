// The files of ASTRA-sim 2.0, each read into what its section of an experiment needs.
//
// Bandwidths of links are in 2^30 B/s, those of memories in 10^9 B/s, times in ns, peaks in 10^12
// operations a second.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/migration/format.hpp"
#include "text.hpp"

namespace tessera::migration::astra {

// A value of ours with its place there.
template <class T>
struct Said {
  T value{};
  std::string origin;  // "system.json:3: endpoint-delay", or that it is a default there
};

struct NetworkDimension {
  std::int64_t npus = 1;
  Bandwidth bandwidth;
  SimTime latency;
  std::string origin;
};

struct Network {
  std::string shape;  // "Ring(2)_FC(8)"
  std::vector<NetworkDimension> dimensions;
};

// network.yml of the analytical backends.
Network read_network(const std::string& path, Request& request, Migrated& migrated);

// Collectives that system files name algorithms of.
enum class Pattern { all_reduce, all_gather, reduce_scatter, all_to_all };

// How a kind of collective goes.
struct Implementation {
  std::vector<std::string> algorithms;  // ours, one for each dimension
  bool is_flat = false;                 // one for all dimensions
  std::int64_t window = 0;              // messages under way in direct; 0: all
  std::string origin;
  bool operator==(const Implementation& other) const {
    return algorithms == other.algorithms && is_flat == other.is_flat && window == other.window;
  }
};

struct System {
  std::map<Pattern, Implementation> implementations;
  Said<std::int64_t> chunks{1, ""};
  Said<std::int64_t> active_chunks{1, ""};
  Said<SimTime> endpoint_delay;
  Said<std::string> decomposition;
  Said<std::string> order;
  Said<std::string> queue;
  std::optional<Said<Bandwidth>> local_memory;
  std::optional<Said<FlopRate>> peak;
  bool has_roofline = false;
};

// system.json, for a machine, or a logical topology, of so many dimensions.
System read_system(const std::string& path, std::size_t dimensions, Request& request,
                   Migrated& migrated);
// What `collectives.algorithms` is of; a kind that the file does not have goes by rings.
Implementation implementation_of(const System& system, Pattern pattern, std::size_t dimensions,
                                 Migrated& migrated);

// The section `remote_memory` of remote_memory.json; empty: none.
YamlLines read_remote_memory(const std::string& path, const Network& network, Request& request,
                             Migrated& migrated);

// Sizes of the dimensions that collectives go through, of a logical topology.
std::vector<std::int64_t> read_logical_topology(const std::string& path, const Network& network,
                                                Request& request, Migrated& migrated);

}  // namespace tessera::migration::astra
