// How the user wants the work cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/plan/offload.hpp"
#include "tessera/plan/placement/placement.hpp"
#include "tessera/plan/program.hpp"
#include "tessera/plan/schedule/schedule.hpp"
#include "tessera/plan/software.hpp"
#include "tessera/plan/wires.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::plan {

// What is not stored from the forward to the backward pass but computed again: nothing; the
// operators that say so (see workload::Operator::recomputed_selectively); everything but the
// inputs of layers that are repeated (recomputed_fully); of these, what is neither a result of
// fused attention nor of every other product with weights (kept_results; PyTorch's torchtitan calls
// it selective, by operations).
enum class Recompute : std::uint8_t { none, selective, full, alternate };

// What the DRAM is for, when SRAM does not hold a stage's tensors: see
// src/plan/sram_allocation.hpp.
enum class SramAllocation : std::uint8_t { resident, algorithm_1 };

// Of collectives, where a strategy says nothing.
inline constexpr const char* usual_algorithm = "ring";

// One tile stands for its tensor group, or for its whole stage: see docs/design/0009.
enum class Aggregation : std::uint8_t { none, tensor, stage };

// How a boundary tensor gets from the tensor group of a stage to that of the next one.
//   full       every shard sends it to its counterpart
//   scattered  every shard sends its part; the receiving group gathers them
//   broadcast  adapter tiles alone send and receive it, whole, and each receiving one broadcasts it
//              to its part of the group (PALM, section V-C, equation (7): strategy 1)
//   reduced    the same, but what is sent are sums over each adapter's part of the sending group,
//              which the receiving adapters add up (equation (8): strategy 2); the sum at the end
//              of the sending stage is left out
// Where adapters are, PALM does not say: the first tile of each of `adapters` runs of consecutive
// shards, in both groups. Gradients on the way back are sums that norms need whole, and go as
// `broadcast` with `reduced` too.
enum class Boundary : std::uint8_t { full, scattered, broadcast, reduced };

// In which passes weights that ZeRO 3 shares out are gathered while the layer before is computed.
// In the others a gather begins when that layer is over, and is waited for. PyTorch's FSDP:
// forward, the host runs ahead; backward, `BACKWARD_PRE` gathers ahead and `BACKWARD_POST` does not
// (Zhao et al., arXiv:2304.11277, section 3.3.2).
enum class Prefetch : std::uint8_t { both, forward, none };

// As many gathers as slots of a program hold beside the layer at work.
inline constexpr std::uint32_t most_layers_ahead = 16;

// Who share out what ZeRO does, of replicas in groups: those that follow each other, or those with
// as many between them as there are groups.
enum class ShardMembers : std::uint8_t { near, across };

// When ZeRO 2 and 3 scatter gradients: after each micro-batch, or those of a run, micro-batches
// that follow one another through a chunk's backward passes, after its last (PyTorch's FSDP with
// set_requires_gradient_sync; Llama 3, arXiv:2407.21783, section 3.3.2).
enum class Scatter : std::uint8_t { each, run };

// What ZeRO 3 gathers in one collective: weights of a layer, or of an operator.
enum class GatherUnit : std::uint8_t { layer, operators };

// Explicit parallelism of an operator's dimensions over its tensor group (PALM, section IV-B: b, m,
// n, k): samples, columns of the output, rows, depth. Their product is the tensor degree. Members
// are numbered with the depth fastest, then columns, rows, samples.
struct OperatorSharding {
  std::uint32_t samples = 1;
  std::uint32_t rows = 1;
  std::uint32_t columns = 1;
  std::uint32_t depth = 1;
  std::uint64_t tiles() const { return std::uint64_t{samples} * rows * columns * depth; }
  friend bool operator==(const OperatorSharding&, const OperatorSharding&) = default;
};

// For operators whose name or kind (of a pattern with a /: layer/name) matches `pattern`, where *
// stands for any text; the first that matches counts.
struct ShardingRule {
  std::string pattern;
  OperatorSharding sharding;
  bool with_layer() const { return pattern.find('/') != std::string::npos; }
  // `path`: LAYER/OPERATOR, which only a pattern with a / asks for.
  bool matches(const std::string& path, const workload::Operator& op) const;
};

// Immutable after reading.
struct Strategy {
  // `degrees.data` counts all replicas of the weights: the data-parallel ones times `context`,
  // context fastest.
  Degrees degrees;
  std::uint32_t context = 1;        // parts of a sequence
  std::uint32_t expert = 1;         // replicas that share out the experts; divides degrees.data
  bool sequence_parallel = false;   // what tensor parallelism leaves whole is cut along the tokens
  std::uint32_t micro_batch = 1;    // samples of one micro-batch in one data-parallel replica
  std::uint32_t micro_batches = 1;  // of one iteration, in each replica
  // By which memory is decided, where fewer of an iteration are simulated; 0: micro_batches.
  std::uint32_t whole_micro_batches = 0;
  std::uint32_t chunks = 1;  // of layers a stage
  std::string schedule;
  bool v_shaped = false;  // how chunks lie, and what they hold, as the schedule says
  bool mirrored = false;
  std::vector<std::vector<Pass>> order;  // [stages] a schedule that the user wrote, else empty
  Recompute recompute = Recompute::none;
  Prefetch prefetch = Prefetch::both;
  std::uint32_t prefetch_layers = 1;  // gathered ahead, where `prefetch` says so
  std::uint32_t zero = 0;             // stage of ZeRO over the data group, 0 … 3
  std::uint32_t shard = 0;            // replicas that share it out; 0: all (see sharing)
  ShardMembers shard_members = ShardMembers::near;
  Scatter scatter = Scatter::each;
  GatherUnit gather = GatherUnit::layer;
  // Of weights gathered by operator, in parameters: fewer are not shared out; more between a
  // recomputation and the backward pass are gathered for both.
  std::uint64_t keep_below = 0;
  std::uint64_t reuse_distance = ~std::uint64_t{0};
  double list_copies = 0;      // bytes moved in memory for each byte that is gathered or reduced so
  bool keep_apart = false;     // what is kept is reduced, and gathered after the update, by tensor
  double gradient_copies = 0;  // bytes moved in memory for each byte of gradients before their sum
  bool overlap_gradients = false;  // reduce a layer's gradient while earlier layers go on
  bool overlap_tensor = false;     // reduce a gradient of inputs beside that of the weights
  bool overlap_passes = false;     // a forward pass beside the backward one that follows it
  bool async_tensor = false;       // gather and scatter along the tokens beside products
  Boundary boundary = Boundary::full;
  std::uint32_t adapters = 1;  // of a tensor group, for broadcast and reduced boundaries
  Software software;
  Wires wires;
  Offload offload;  // of training
  SramAllocation sram = SramAllocation::resident;
  bool check_capacity = true;
  Aggregation aggregation = Aggregation::none;
  std::vector<ShardingRule> shardings;
  std::string tensor_algorithm;
  std::string data_algorithm;
  std::string layout;
  PlacementRequest placement;

  // The iteration that memory is decided by.
  Strategy whole() const;
  // Samples that one tile computes on in a pass are micro_batch; its tokens are cut by `context`.
  std::uint32_t data_parallel() const { return degrees.data / context; }
  // Replicas that share out what ZeRO does. Hybrid: in groups, which hold copies of each other
  // (MiCS, Zhang et al., arXiv:2205.00119; FSDP's HYBRID_SHARD, arXiv:2304.11277, section 3.2.2).
  std::uint32_t sharing() const { return shard == 0 ? degrees.data : shard; }
  // Layers whose weights are gathered before the one at work is over.
  std::uint32_t gathered_ahead_forward() const {
    return prefetch == Prefetch::none ? 0 : prefetch_layers;
  }
  std::uint32_t gathered_ahead_backward() const {
    return prefetch == Prefetch::both ? prefetch_layers : 0;
  }
  // Whether each micro-batch's gradients are scattered, or those of a run.
  bool scatters_each() const { return zero >= 2 && scatter == Scatter::each; }
  bool scatters_runs() const { return zero >= 2 && scatter == Scatter::run; }
  bool is_hybrid() const { return zero > 0 && sharing() < degrees.data; }
  bool has_adapters() const {
    return boundary == Boundary::broadcast || boundary == Boundary::reduced;
  }
  PipelineShape pipeline_shape(bool training) const {
    return {degrees.pipeline, chunks, micro_batches, training, v_shaped, mirrored};
  }
  // That go through each chunk.
  std::uint32_t chunk_micro_batches() const { return mirrored ? micro_batches / 2 : micro_batches; }
  // Whether a forward pass and the backward one behind it may begin together. By name: others let
  // stages wait for each other for ever.
  bool has_pairs() const {
    return order.empty() && (schedule == "dualpipe" || schedule == "dualpipe-v");
  }
  // Whether what ZeRO shares out is held in units of fully_shard (plan/software.hpp).
  bool has_units() const { return software.is_fsdp2() && zero >= 1 && sharing() > 1; }
  // That has the last part of the model.
  std::uint32_t last_stage() const {
    const PipelineShape shape = pipeline_shape(true);
    return shape.stage_of(shape.parts() - 1);
  }
  // Passes of one stage of an iteration, without the update.
  std::vector<Pass> passes(std::uint32_t stage, bool training) const;
};

std::vector<ParameterInfo> strategy_parameters();

// Reads the mapping of a strategy file. `workload` gives the batch that is cut; `nodes` are those
// that may be used, in order, or empty: all that compute.
Strategy read_strategy(config::Section& section, const workload::Workload& workload,
                       const machine::Topology& topology, const std::vector<EntityId>& nodes = {});

// Shapes of the groups that every strategy has, by Group (those below first_cut).
std::vector<GroupShape> standard_groups(const Strategy& strategy);

}  // namespace tessera::plan
