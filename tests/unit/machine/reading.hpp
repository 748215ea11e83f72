// Makes topologies and machines from YAML text, as a user would.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/machine/machine.hpp"

namespace tessera::machine::testing {

// What became of one text read as a machine file called "m.yaml".
struct Reading {
  std::optional<Machine> machine;
  std::vector<std::string> complaints;
};

inline Reading read(const std::string& text) {
  Reading reading;
  config::Diagnostics diagnostics;
  config::Section section(config::parse("m.yaml", text, diagnostics), "", diagnostics);
  reading.machine = read_machine(section);
  section.finish();
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics()) {
      reading.complaints.push_back(diagnostic.to_string());
    }
  }
  return reading;
}

// Throws ConfigError on any complaint.
inline Machine machine_of(const std::string& text) {
  Reading reading = read(text);
  if (!reading.complaints.empty() || !reading.machine) {
    throw ConfigError(reading.complaints.empty() ? "no machine" : reading.complaints.front());
  }
  return *std::move(reading.machine);
}

// `flow` is a flow mapping, "{kind: mesh, …}".
inline std::unique_ptr<Topology> topology_of(const std::string& flow) {
  return machine_of("topology: " + flow + "\n").topology;
}

inline std::unique_ptr<Topology> grid_of(const std::string& kind, int rows, int columns) {
  return topology_of("{kind: " + kind + ", rows: " + std::to_string(rows) + ", columns: " +
                     std::to_string(columns) + ", bandwidth: 10 GB/s, latency: 2 ns}");
}

// Tiles of 2×3 cores; 1 ns inside a tile, 5 ns between tiles.
inline std::unique_ptr<Topology> wafer_of(int tile_rows, int tile_columns) {
  return topology_of("{kind: wafer, tiles: [" + std::to_string(tile_rows) + ", " +
                     std::to_string(tile_columns) +
                     "], cores: [2, 3], intra_tile: {bandwidth: 40 GB/s, latency: 1 ns}, "
                     "inter_tile: {bandwidth: 10 GB/s, latency: 5 ns}}");
}

// `nodes` GPUs around one switch: the switch is the last node.
inline std::unique_ptr<Topology> star_of(int nodes) {
  return topology_of("{kind: graph, nodes: [{name: gpu, count: " + std::to_string(nodes) +
                     "}, {name: hub, kind: switch}], "
                     "links: [{from: gpu, to: hub, bandwidth: 10 GB/s, latency: 3 ns}]}");
}

// Links of 1 ns to the switch of a server, 2 ns to the NIC, 3 ns to the leaf, 4 ns in the fabric.
inline std::string cluster_text(int servers, int accelerators, int nics,
                                const std::string& fabric) {
  return "{kind: cluster, nodes: " + std::to_string(servers) +
         ", accelerators: " + std::to_string(accelerators) + ", nics: " + std::to_string(nics) +
         ", switch: {bandwidth: 300 GB/s, latency: 1 ns}, nic: {bandwidth: 30 GB/s, latency: 2 "
         "ns}, port: {bandwidth: 25 GB/s, latency: 3 ns}, fabric: " +
         fabric + "}";
}

inline std::string fat_tree(int leaf_servers, bool rails, int spines) {
  return "{kind: fat-tree, leaf_nodes: " + std::to_string(leaf_servers) +
         ", rail_optimized: " + (rails ? "true" : "false") + ", spines: " + std::to_string(spines) +
         ", bandwidth: 50 GB/s, latency: 4 ns}";
}

inline std::unique_ptr<Topology> cluster_of(int servers, int accelerators, int nics,
                                            const std::string& fabric) {
  return topology_of(cluster_text(servers, accelerators, nics, fabric));
}

}  // namespace tessera::machine::testing
