// Who does what, where: a workload cut by a strategy and laid on a machine.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/collective/algorithm.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/plan/placement.hpp"
#include "tessera/plan/program.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// How the user wants the work cut. Immutable after reading.
struct Strategy {
  Degrees degrees;
  std::uint32_t micro_batch = 1;    // samples of one micro-batch in one replica
  std::uint32_t micro_batches = 1;  // of one iteration, in each replica
  std::string schedule;
  bool recompute = false;          // forward again before backward; only layer inputs are kept
  bool shard_optimizer = false;    // ZeRO stage 1 over the data group
  bool overlap_gradients = false;  // reduce a layer's gradient while earlier layers go on
  bool scatter_boundary = false;   // each shard sends its part of the boundary activation
  bool check_capacity = true;
  std::string tensor_algorithm;
  std::string data_algorithm;
  std::string layout;
  PlacementRequest placement;
};

std::vector<ParameterInfo> strategy_parameters();

// Reads the mapping of a strategy file. `workload` gives the batch that is cut.
Strategy read_strategy(config::Section& section, const workload::Workload& workload,
                       const machine::Topology& topology);

// What a stage keeps on one tile, and where. SRAM holds, in this order of preference, all of it;
// weights with gradients and optimizer state; activations; nothing (PALM, section IV-C: its
// strategies S_wsg_act, S_wsg, S_act, S_dram). What is not held streams from DRAM at each use.
struct StageMemory {
  Bytes weights;
  Bytes gradients;
  Bytes optimizer;
  Bytes activations_per_micro_batch;
  std::uint32_t in_flight = 0;
  bool holds_weights = false;
  bool holds_activations = false;
  Bytes activations() const { return activations_per_micro_batch * in_flight; }
  Bytes weight_state() const { return weights + gradients + optimizer; }
  Bytes total() const { return weight_state() + activations(); }
  // Bytes of DRAM the tile's share needs.
  Bytes in_dram() const {
    return (holds_weights ? Bytes(0) : weight_state()) +
           (holds_activations ? Bytes(0) : activations());
  }
};

struct Stage {
  std::size_t first_layer = 0;
  std::size_t end_layer = 0;
  Program program;
  StageMemory memory;
  // Arithmetic of one tile, one micro-batch, alone on the machine; no communication.
  SimTime forward_compute;
  SimTime backward_compute;
};

// Time of an operation on an idle tile; given by the compute model.
using OperationTime = std::function<SimTime(const workload::Operation&)>;

struct Plan {
  Strategy strategy;
  Placement placement;
  std::vector<Stage> stages;
  std::vector<std::string> names;  // of instructions
  std::vector<workload::Operation> operations;
  DataType data_type = DataType::fp16;
  std::unique_ptr<collective::Algorithm> tensor_algorithm;
  std::unique_ptr<collective::Algorithm> data_algorithm;

  const collective::Algorithm& algorithm(Group group) const {
    return group == Group::tensor ? *tensor_algorithm : *data_algorithm;
  }
  std::uint32_t group_size(Group group) const {
    return group == Group::tensor ? strategy.degrees.tensor : strategy.degrees.data;
  }
  // PALM, equation (1): (B/b - 1) * slowest stage + sum of all stages, arithmetic only. A lower
  // bound on an iteration without the update.
  SimTime ideal_time() const;
  // Instructions of one iteration over all tiles: the measure of progress.
  std::uint64_t instructions() const;
  std::size_t resident_bytes() const;
};

// Cuts and places. Throws ConfigError when the work does not fit: more stages than layers, more
// roles than tiles, or (unless `check_capacity` is off) more bytes than SRAM and DRAM hold.
Plan make_plan(const machine::Machine& machine, const workload::Workload& workload,
               const Strategy& strategy, const OperationTime& operation_time);

// Layers of each stage: consecutive, none empty, with the smallest possible largest cost and, among
// those, the smallest sum of squared costs. Gives the first layer of each stage and the end,
// [stages + 1]. O(layers^2) time, O(stages * layers) memory.
std::vector<std::size_t> balance_layers(const std::vector<std::uint64_t>& costs,
                                        std::size_t stages);

}  // namespace tessera::plan
