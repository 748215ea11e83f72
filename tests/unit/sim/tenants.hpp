// Work of several kinds as tenants of a small machine.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "files.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/sim/simulation.hpp"

namespace tessera::sim::tenancy {

using testing::Files;
using testing::read;

// Cores of one type and tiles of another, each with a memory of its own.
inline const std::string machine_text =
    "machine:\n"
    "  topology: {kind: mesh, rows: ROWS, columns: 4, bandwidth: 10 GB/s, latency: 1 ns}\n"
    "  tile: {peak: {fp16: 1 TFLOP/s}, sram: 100 kB}\n"
    "  dram: {at: DRAM, bandwidth: 20 GB/s, latency: 50 ns}\n"
    "  memory: {model: channel}\n"
    "  network: {model: NETWORK}\n"
    "  compute: {model: COMPUTE}\n";
inline const std::string npu_keys =
    "npu, array: [8, 8], vector_width: 16, scratchpad: 64 KiB, accumulator: 16 KiB";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

struct Machine {
  int rows = 4;
  std::string dram = "each";
  std::string network = "packet";
  std::string compute = "roofline";

  std::string text() const {
    std::string text = replaced(machine_text, "ROWS", std::to_string(rows));
    text = replaced(text, "DRAM", dram);
    text = replaced(text, "NETWORK", network);
    return replaced(text, "COMPUTE", compute);
  }
};

// What a workload needs beside it, in lines of their own.
struct Work {
  std::string name;
  std::string lines;
  bool needs_cores = false;
  bool repeats = true;
};

inline void PrintTo(const Work& work, std::ostream* out) {
  *out << work.name;
}

inline const Work transformer{
    "transformer",
    "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, "
    "batch: 8}\n"
    "strategy: {pipeline: 2, tensor: 2, data: 2}\n"};
inline const Work inference{
    "inference",
    "workload: {kind: transformer, layers: 2, hidden: 32, heads: 4, sequence: 16, vocabulary: 50, "
    "batch: 8, mode: inference}\n"
    "strategy: {pipeline: 2, tensor: 2, data: 2, placement: {layout: optimized, moves: 2000}}\n"};
inline const Work as_graphs{"programs as graphs",
                            transformer.lines + "execution: {sends: delivered}\n"};
inline const Work collective{
    "collective",
    "workload: {kind: collective, collective: all-reduce, size: 3 MB, repeat: 2}\n"
    "execution: {collectives: {chunks: 3}}\n"};
inline const Work vertices{"vertices",
                           "workload: {kind: graph, iterations: 2, vertices: ["
                           "{name: forward, start: true, flops: 1 GFLOP, bytes: 300 kB}, "
                           "{name: sync, collective: all-reduce, bytes: 3 MB}, "
                           "{name: message, from: 0, to: 3, bytes: 1 MB}], edges: ["
                           "{from: forward, to: sync}, {from: sync, to: message}, "
                           "{from: message, to: forward}]}\n"};
inline const Work operators{"operators",
                            "workload: {kind: operators, operators: ["
                            "{kind: norm, rows: 60, columns: 96}, "
                            "{kind: gemm, rows: 60, columns: 64, depth: 96, bias: true}]}\n",
                            true};

// Over four NPUs, and on one of them beside it.
inline const Work serving{
    "serving",
    "workload: {kind: serving, npu_cores: 2, tenants: ["
    "{name: cut, tensor: 2, pipeline: 2, language_model: {layers: 2, hidden: 32, heads: 4, "
    "sequence: 64, vocabulary: 50}, requests: {arrivals: poisson, rate: 200000, count: 4, "
    "prompt: [4, 20], generate: [1, 4]}, target: {first_token: 20 us}}, "
    "{name: one, npus: [1], language_model: {layers: 1, hidden: 32, heads: 4, sequence: 64, "
    "vocabulary: 50}, requests: {arrivals: list, list: [{at: 1 us, prompt: 20, generate: 3}, "
    "{at: 7 us, prompt: 8, generate: 2}]}}]}\n",
    true, false};

// Lines below the first of a list item.
inline std::string indented(const std::string& lines, const std::string& by) {
  std::string text;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = lines.find('\n', at) + 1;
    text += by + lines.substr(at, end - at);
    at = end;
  }
  return text;
}

inline std::string tenant(const std::string& name, const std::string& tiles,
                          const std::string& lines) {
  return "    - name: " + name + "\n      tiles: " + tiles + "\n" + indented(lines, "      ");
}

inline Files files_of(const Machine& machine, const std::string& rest) {
  return {{"lab/experiment.yaml", "name: lab\n" + machine.text() + rest + "run: {trace: none}\n"}};
}

inline Files alone(const Machine& machine, const Work& work) {
  return files_of(machine, work.lines);
}

inline Files together(const Machine& machine, const std::vector<std::string>& tenants) {
  std::string rest = "workload:\n  kind: tenants\n  tenants:\n";
  for (const std::string& each : tenants) {
    rest += each;
  }
  return files_of(machine, rest);
}

inline trace::Summary run_it(const Files& files, int ranks = 1) {
  const Experiment experiment = read(files);
  trace::Summary result;
  comm::run_ranks_as_threads(ranks, [&](comm::Communicator& communicator) {
    trace::Summary summary = run(experiment, communicator, {});
    if (communicator.rank() == 0) {
      result = std::move(summary);
    }
  });
  return result;
}

inline Machine machine_for(const Work& work, int rows) {
  Machine machine;
  machine.rows = rows;
  if (work.needs_cores) {
    machine.compute = npu_keys;
  }
  return machine;
}

}  // namespace tessera::sim::tenancy
