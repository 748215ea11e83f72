// PALM's wafer (Fang et al., Table VI) and a transformer small enough for its heads and layers to
// be cut in many ways.
#pragma once

#include <string>

#include "planning.hpp"
#include "tessera/plan/traffic.hpp"

namespace tessera::plan::testing {

inline std::string wafer_text() {
  return "topology: {kind: wafer, tiles: [5, 4], cores: [4, 4],\n"
         "  intra_tile: {bandwidth: 1024 GB/s, latency: 1 ns},\n"
         "  inter_tile: {bandwidth: 256 GB/s, latency: 1 ns}}\n"
         "tile: {peak: {fp16: 16 TFLOP/s}, sram: 3750 kB}\n"
         "dram: {at: edge, edges: [west, east], bandwidth: 64 GB/s, latency: 100 ns}\n";
}

inline std::string wafer_workload_text() {
  return "kind: transformer\nlayers: 22\nhidden: 1024\nheads: 16\nsequence: 512\n"
         "vocabulary: 8192\nbatch: 24\ndata_type: fp16\noptimizer: adam\n";
}

inline Planned on_wafer(const std::string& degrees, const std::string& placement) {
  return planned("{" + degrees + ", recompute: full, placement: {" + placement + "}}", wafer_text(),
                 wafer_workload_text());
}

// [2^-20 ps]
inline Wide cost_of(const Planned& made) {
  return hop_weighted_traffic(made.machine, made.plan, made.plan.placement).total().cost;
}

}  // namespace tessera::plan::testing
