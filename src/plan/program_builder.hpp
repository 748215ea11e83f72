// Writes the program of one stage.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tessera/plan/plan.hpp"

namespace tessera::plan {

// Names of instructions, each kept once.
class NameTable {
 public:
  std::uint16_t operator()(const std::string& name);
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::map<std::string, std::uint16_t> numbers_;
  std::vector<std::string> names_;
};

// What an operator costs on one tile, for one micro-batch.
struct ShardedCost {
  Flops flops;
  Bytes sram_bytes;
};

// Bytes of a layer on one tile.
struct LayerBytes {
  Bytes weights;
  Bytes weights_read;  // from DRAM at a forward or backward pass, when they are not held
  Bytes gradients;
  Bytes optimizer;
  Bytes stored;  // activations kept for backward, one micro-batch
};

// How one workload is cut: sizes for one tile.
class Cutter {
 public:
  Cutter(const workload::Workload& workload, const Strategy& strategy)
      : workload_(workload), strategy_(strategy) {}
  ShardedCost forward(const workload::Operator& op) const;
  ShardedCost backward(const workload::Operator& op) const;
  LayerBytes bytes_of(const workload::Layer& layer) const;
  // Of `elements` a sample, all of them, for one micro-batch.
  Bytes tensor_bytes(std::uint64_t elements) const;

 private:
  std::uint64_t shards(const workload::Operator& op) const;
  // Held on one tile, and read by one pass: the latter with weights that another operator holds.
  std::uint64_t tile_parameters(const workload::Operator& op) const;
  std::uint64_t used_parameters(const workload::Operator& op) const;
  Bytes moved(const workload::Operator& op) const;

  const workload::Workload& workload_;
  const Strategy& strategy_;
};

// The program of stage `number`: layers [first, end) of the workload, with `memory` as decided.
Program build_program(const workload::Workload& workload, const Strategy& strategy,
                      std::uint32_t number, const Stage& stage, NameTable& names);

}  // namespace tessera::plan
