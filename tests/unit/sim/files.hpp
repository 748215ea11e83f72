// Experiments from texts in memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim::testing {

using Files = std::map<std::string, std::string>;

// A small experiment in four files.
inline Files small_experiment() {
  return {{"lab/experiment.yaml",
           "name: small\n"
           "machine: parts/machine.yaml\n"
           "workload: parts/workload.yaml\n"
           "strategy: parts/strategy.yaml\n"
           "run: {iterations: 2, trace: none, bins: 8}\n"},
          {"lab/parts/machine.yaml",
           "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 10 GB/s, latency: 1 ns}\n"
           "tile: {peak: {fp16: 1 TFLOP/s}, sram: 100 kB}\n"
           "dram: {at: edge, edges: [west], bandwidth: 20 GB/s, latency: 50 ns}\n"},
          {"lab/parts/workload.yaml",
           "kind: transformer\nlayers: 2\nhidden: 32\nheads: 4\nsequence: 16\nvocabulary: 50\n"
           "batch: 4\ndata_type: fp16\noptimizer: adam\n"},
          {"lab/parts/strategy.yaml", "pipeline: 2\ntensor: 2\ndata: 2\n"}};
}

inline Experiment read(const Files& files, const std::vector<std::string>& overrides = {}) {
  return read_experiment("lab/experiment.yaml", overrides, [&](const std::string& path) {
    const auto file = files.find(path);
    if (file == files.end()) {
      throw IoError(path + ": no such file");
    }
    return file->second;
  });
}

// The first complaint, as the user sees it; empty when there is none.
inline std::string complaint_of(const Files& files,
                                const std::vector<std::string>& overrides = {}) {
  try {
    read(files, overrides);
  } catch (const ConfigError& error) {
    return error.diagnostics().front().to_string();
  }
  return "";
}

// `small_experiment` with one text replaced in one file.
inline Files edited(const std::string& file, const std::string& from, const std::string& to) {
  Files files = small_experiment();
  std::string& text = files.at("lab/" + file);
  text.replace(text.find(from), from.size(), to);
  return files;
}

}  // namespace tessera::sim::testing
