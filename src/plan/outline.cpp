#include "tessera/plan/outline.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "pieces/writer.hpp"
#include "program_builder.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::plan {
namespace {

constexpr std::uint32_t slots_of_a_kind = 2;  // of layers in turn

// Nothing that replicas say to each other, and boundaries that cost nothing but a message. Where
// there are more stages weights that layers share have copies, but for a V, whose last layers lie
// beside the first.
Strategy of_one_stage(Strategy strategy) {
  strategy.degrees.pipeline = std::min(strategy.degrees.pipeline, 2U);
  strategy.boundary = Boundary::full;
  strategy.adapters = 1;
  strategy.degrees.data = strategy.context * strategy.expert;
  strategy.chunks = strategy.v_shaped ? 2 : 1;
  strategy.zero = strategy.shard = 0;
  strategy.overlap_gradients = false;
  strategy.aggregation = Aggregation::none;
  return strategy;
}

void add(const Instruction& instruction, const std::vector<workload::Operation>& operations,
         const std::vector<GroupShape>& groups, PassOutline& outline) {
  switch (instruction.action) {
    case Action::execute:
      outline.operations.push_back(operations[instruction.operation]);
      break;
    case Action::collective:
    case Action::start_collective:
      outline.collectives.push_back({groups[static_cast<std::size_t>(instruction.group)],
                                     instruction.group, instruction.collective,
                                     Bytes(instruction.bytes),
                                     instruction.action == Action::start_collective});
      break;
    case Action::write:
      outline.written += Bytes(instruction.bytes);
      [[fallthrough]];
    case Action::read:
      outline.accessed += Bytes(instruction.bytes);
      outline.of_kinds[instruction.slot / slots_of_a_kind] += Bytes(instruction.bytes);
      break;
    default:
      break;
  }
}

// All but the names.
auto numbers_of(const workload::Operator& op) {
  const workload::MatrixProduct& product = op.product;
  return std::tuple(
      std::tie(op.name, op.kind, op.sharding, product.rows, product.columns, product.depth,
               product.count, op.parameters, op.replicated_parameters, op.shared_parameters,
               op.input_elements, op.output_elements, op.recomputed_selectively,
               op.recomputed_fully, op.kv_heads, op.context_elements, op.experts,
               op.exchange_elements, op.table_parameters, op.looked_up_elements,
               op.forward_all_reduce_elements, op.backward_all_reduce_elements, op.additive),
      std::tie(op.forward_flops, op.backward_flops, op.weight_gradient_flops, op.more_moved_forward,
               op.more_moved_backward, op.ignores_inputs_backward, op.stored_cut, op.stored_whole,
               op.passing_forward, op.passing_backward, op.kept_results, op.parts,
               op.output_is_read, op.needed_again, op.fused_elements, op.own_type,
               op.weight_bytes));
}

bool alike(const workload::Layer& a, const workload::Layer& b) {
  return a.boundary_elements == b.boundary_elements &&
         std::equal(a.operators.begin(), a.operators.end(), b.operators.begin(), b.operators.end(),
                    [](const workload::Operator& one, const workload::Operator& other) {
                      return numbers_of(one) == numbers_of(other);
                    });
}

Bytes boundary_of(const Sharder& sharder, const Strategy& strategy, const workload::Layer& layer) {
  const bool scatters = strategy.boundary == Boundary::scattered && !strategy.sequence_parallel;
  return scatters ? Bytes(divided_up(sharder.tensor_bytes(layer.boundary_elements).count(),
                                     strategy.degrees.tensor))
                  : sharder.whole_bytes(layer.boundary_elements);
}

}  // namespace

Bytes PassOutline::most_of_a_kind() const {
  Bytes most;
  for (const auto& [kind, bytes] : of_kinds) {
    most = std::max(most, bytes);
  }
  return most;
}

LayerState& LayerState::operator+=(const LayerState& other) {
  weights += other.weights;
  gradients += other.gradients;
  optimizer += other.optimizer;
  stored += other.stored;
  sent_weights += other.sent_weights;
  sent_expert_weights += other.sent_expert_weights;
  sent_gradients += other.sent_gradients;
  sent_expert_gradients += other.sent_expert_gradients;
  dense_gradients += other.dense_gradients;
  expert_gradients += other.expert_gradients;
  whole_gradients += other.whole_gradients;
  updated_weights += other.updated_weights;
  updated_gradients += other.updated_gradients;
  boundary += other.boundary;
  return *this;
}

LayerState LayerState::operator*(std::uint64_t times) const {
  return {weights * times,           gradients * times,
          optimizer * times,         stored * times,
          sent_weights * times,      sent_expert_weights * times,
          sent_gradients * times,    sent_expert_gradients * times,
          dense_gradients * times,   expert_gradients * times,
          whole_gradients * times,   updated_weights * times,
          updated_gradients * times, boundary * times};
}

PassOutline outline_of(const workload::Workload& workload, const Strategy& strategy,
                       std::size_t layer, Phase phase, const Holding& holding, Bytes sram) {
  const Strategy alone = of_one_stage(strategy);
  Stage stage;
  stage.chunks.push_back({layer, layer + 1});
  stage.memory.holds_weights = holding.weights;
  stage.memory.holds_activations = holding.activations;
  Tables tables;
  tables.groups = standard_groups(alone);
  const GroupEstimates estimates;
  PieceWriter writer(workload, alone, 0, stage, sram, estimates, tables);
  const std::vector<Instruction> code = writer.write(phase, 0, Closing::nothing);
  const std::vector<workload::Operation> operations = tables.operations.take();
  PassOutline outline;
  for (const Instruction& instruction : code) {
    add(instruction, operations, tables.groups, outline);
  }
  return outline;
}

LayerState state_of(const workload::Workload& workload, const Strategy& strategy,
                    std::size_t layer) {
  const Sharder sharder(workload, strategy);
  const LayerBytes bytes = sharder.bytes_of(workload.layers[layer]);
  LayerState state;
  state.weights = bytes.weights;
  state.gradients = bytes.gradients;
  state.optimizer = bytes.optimizer;
  state.stored = bytes.stored;
  state.sent_weights = bytes.sent_weights;
  state.sent_expert_weights = bytes.sent_expert_weights;
  state.sent_gradients = bytes.sent_gradients;
  state.sent_expert_gradients = bytes.sent_expert_gradients;
  state.dense_gradients = bytes.dense_gradients;
  state.expert_gradients = bytes.expert_gradients;
  state.whole_gradients = bytes.whole_gradients;
  state.updated_weights = bytes.updated_weights;
  state.updated_gradients = bytes.updated_gradients;
  state.boundary = boundary_of(sharder, strategy, workload.layers[layer]);
  return state;
}

Holding holding_of(const machine::Tile& tile, bool has_dram, Bytes weight_state,
                   Bytes activations) {
  // A size that is not stated is no limit, and without DRAM there is nowhere else to be.
  const bool unlimited = tile.sram == Bytes(0) || !has_dram || tile.streams_nothing();
  Holding holding;
  holding.weights = unlimited || weight_state <= tile.sram;
  const Bytes left = holding.weights && !unlimited ? tile.sram - weight_state : tile.sram;
  holding.activations = unlimited || activations <= left;
  return holding;
}

std::vector<std::size_t> kinds_of_layers(const workload::Workload& workload,
                                         const Strategy& strategy) {
  const bool by_name = std::any_of(
      strategy.shardings.begin(), strategy.shardings.end(),
      [](const ShardingRule& rule) { return rule.pattern.find('/') != std::string::npos; });
  std::vector<std::size_t> firsts;
  std::vector<std::size_t> kinds;
  for (std::size_t layer = 0; layer < workload.layers.size(); ++layer) {
    const auto found = std::find_if(firsts.begin(), firsts.end(), [&](std::size_t first) {
      return !by_name && alike(workload.layers[first], workload.layers[layer]);
    });
    kinds.push_back(static_cast<std::size_t>(found - firsts.begin()));
    if (found == firsts.end()) {
      firsts.push_back(layer);
    }
  }
  return kinds;
}

std::uint32_t channels_of(const GroupShape& shape, const Placement& placement,
                          const machine::Topology& topology) {
  const auto domain = [&](std::uint32_t member) {
    return topology.domain(placement.tile(shape.place_of(member, 0)));
  };
  std::uint32_t block = 1;
  while (block < shape.size && domain(block) == domain(0)) {
    ++block;
  }
  bool alike = block < shape.size && shape.size % block == 0;
  for (std::uint32_t member = 1; alike && member < shape.size; ++member) {
    alike = (domain(member) == domain(member - 1)) == (member % block != 0);
  }
  return alike ? block : 1;
}

}  // namespace tessera::plan
