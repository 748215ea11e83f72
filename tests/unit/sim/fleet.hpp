// A served model on a small machine, with or without a memory behind it.
#pragma once

#include <string>

#include "files.hpp"

namespace tessera::sim::fleet {

using testing::Files;

inline const std::string mesh =
    "  topology: {kind: mesh, rows: 1, columns: 4, bandwidth: 64 GB/s, latency: 10 ns}\n";
// Two tiles and a memory for both.
inline const std::string with_pool =
    "  topology:\n    kind: graph\n    nodes:\n      - {name: xpu, count: 2}\n"
    "      - {name: pool, kind: memory, capacity: 1 MB}\n    links:\n"
    "      - {from: xpu, to: pool, bandwidth: 10 GB/s, latency: 1 us}\n"
    "      - {from: \"xpu[0]\", to: \"xpu[1]\", bandwidth: 10 GB/s, latency: 1 us}\n";

// A token keeps 512 B in the cache, a block 8 KiB.
inline Files experiment_of(const std::string& machine, const std::string& tenant,
                           const std::string& steps = "walked") {
  return {{"lab/experiment.yaml",
           "name: fleet\nmachine:\n  name: tiles\n" + machine +
               "  tile: {peak: {fp16: 1 TFLOP/s}, operands: dram}\n"
               "  dram: {at: each, bandwidth: 64 GB/s, latency: 100 ns, capacity: 2 MB}\n"
               "  network: {model: analytical}\n  compute: {model: roofline}\n"
               "run: {trace: none}\nworkload:\n  kind: serving\n  steps: " +
               steps +
               "\n  tenants:\n    - name: chat\n      language_model: {layers: 2, hidden: 64, "
               "heads: 4, sequence: 512, vocabulary: 64, biases: false, normalisation: rms_norm, "
               "positions: rotary, tie_embeddings: false}\n" +
               tenant}};
}

inline std::string remote(const std::string& bandwidth, const std::string& latency) {
  return "  remote_memory: {kind: per-npu, bandwidth: " + bandwidth + ", latency: " + latency +
         "}\n";
}

}  // namespace tessera::sim::fleet
