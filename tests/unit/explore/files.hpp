// A sweep from texts in memory.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/error.hpp"

namespace tessera::explore::testing {

using Files = std::map<std::string, std::string>;

// An experiment of 16 cores that has room for all, and a sweep of it.
inline Files small_sweep() {
  return {{"lab/experiment.yaml",
           "name: small\n"
           "machine: machine.yaml\n"
           "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16,\n"
           "  vocabulary: 50, batch: 4}\n"
           "strategy: {pipeline: 2, tensor: 2}\n"},
          {"lab/machine.yaml",
           "name: mesh\n"
           "topology: {kind: mesh, rows: 4, columns: 4, bandwidth: 10 GB/s, latency: 1 ns}\n"
           "tile: {peak: {fp16: 1 TFLOP/s}, sram: 1 MB}\n"},
          {"lab/sweep.yaml",
           "experiment: experiment.yaml\n"
           "axes:\n"
           "  strategy.pipeline: [1, 2, 4]\n"
           "  strategy.tensor: [1, 2, 3]\n"
           "  strategy.data: [1, 2]\n"}};
}

inline Files with_line(const std::string& line) {
  Files files = small_sweep();
  files.at("lab/sweep.yaml") += line + "\n";
  return files;
}

inline config::TextLoader loader_of(const Files& files) {
  return [files](const std::string& path) {
    // A resumed sweep asks for the file by its whole path.
    const std::filesystem::path here = std::filesystem::current_path();
    const bool whole = std::filesystem::path(path).is_absolute();
    const std::string name =
        whole ? std::filesystem::path(path).lexically_relative(here).string() : path;
    const auto file = files.find(name);
    if (file == files.end()) {
      throw IoError("cannot read " + path + ": no such file");
    }
    return file->second;
  };
}

}  // namespace tessera::explore::testing
