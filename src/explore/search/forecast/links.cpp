// Of strategies what they have the links beside channels of DRAM carry.
#include <algorithm>

#include "search/forecast/forecast.hpp"
#include "tessera/plan/sharder.hpp"

namespace tessera::explore {
namespace {

using collective::Kind;
using plan::Group;
using plan::LayerState;

// Chunks of a collective may be a byte smaller than the others.
void add(Ways& ways, const plan::GroupShape& shape, const collective::Algorithm& algorithm,
         Kind kind, Bytes bytes, LinkBytes& carried) {
  if (bytes.count() <= shape.size) {
    return;
  }
  if (const std::optional<std::size_t> slot = ways.slot_of(shape, algorithm, kind)) {
    carried.of[*slot] += static_cast<double>(bytes.count() - shape.size);
  }
}

}  // namespace

LinkBytes Forecaster::bytes_of(Ways& ways, const plan::PassOutline& outline) const {
  LinkBytes bytes;
  bytes.of[LinkBytes::reads] = static_cast<double>((outline.accessed - outline.written).count());
  bytes.of[LinkBytes::writes] = static_cast<double>(outline.written.count());
  for (const plan::PassOutline::Collective& each : outline.collectives) {
    const bool over_replicas = plan::is_over_replicas(each.group);
    add(ways, each.shape, over_replicas ? *data_algorithm_ : *tensor_algorithm_, each.kind,
        each.bytes, bytes);
  }
  return bytes;
}

// Of these layers, one micro-batch; of what schedules do either way the less.
LinkBytes Forecaster::carried_by_passes(const CostSums& costs, std::size_t first,
                                        std::size_t end) const {
  const auto of = [&](PassKind pass) {
    return costs.carried[end][pass] - costs.carried[first][pass];
  };
  LinkBytes all = of(forward);
  if (workload_.training) {
    LinkBytes back = of(backward);
    if (apart()) {
      LinkBytes parts = of(inputs);
      parts += of(weights);
      back = is_mixed() ? smaller(parts, back) : parts;
    }
    all += back;
  }
  return all;
}

// What replicas send of these layers in an iteration.
LinkBytes Forecaster::carried_for_replicas(Ways& ways, const LayerState& state) const {
  LinkBytes carried;
  if (strategy_.degrees.data == 1) {
    return carried;
  }
  const plan::GroupShape& data = groups_[static_cast<std::size_t>(sharing_group())];
  const plan::GroupShape& expert = groups_[static_cast<std::size_t>(Group::expert_data)];
  const auto gather = [&](LinkBytes& to) {
    add(ways, data, *data_algorithm_, Kind::all_gather, state.sent_weights, to);
    add(ways, expert, *data_algorithm_, Kind::all_gather, state.sent_expert_weights, to);
  };
  if (strategy_.zero == 3) {
    LinkBytes once;
    gather(once);
    carried += once * (strategy_.micro_batches * (workload_.training ? 2.0 : 1.0));
  }
  if (workload_.training) {
    if (strategy_.zero == 1 || strategy_.zero == 2) {
      gather(carried);
    }
    const Kind kind = strategy_.zero >= 1 ? Kind::reduce_scatter : Kind::all_reduce;
    LinkBytes once;
    add(ways, data, *data_algorithm_, kind, state.sent_gradients, once);
    add(ways, expert, *data_algorithm_, kind, state.sent_expert_gradients, once);
    carried += once * (strategy_.scatters_each() ? strategy_.micro_batches : 1.0);
  }
  return carried;
}

// By a tile of the stage, in an iteration.
LinkBytes Forecaster::carried_by(PerLayout& layout, const std::vector<std::size_t>& cuts,
                                 std::uint32_t stage, const plan::StageMemory& memory) {
  const CostSums& costs = costs_of(layout, {memory.holds_weights, memory.holds_activations});
  const SharingSums& sharing = sharing_of(layout);
  LinkBytes of_micro_batch;
  LayerState all;
  for (std::uint32_t chunk = 0; chunk < strategy_.chunks; ++chunk) {
    const std::uint32_t part = shape().part_of(stage, chunk);
    of_micro_batch += carried_by_passes(costs, cuts[part], cuts[part + 1]);
    all += between(sharing.state, cuts[part], cuts[part + 1]);
  }
  if (streams_shares(memory)) {
    const auto others =
        static_cast<double>((all.dense_gradients + all.expert_gradients - all.gradients).count());
    of_micro_batch.of[LinkBytes::reads] -= others;
    of_micro_batch.of[LinkBytes::writes] -= others;
  }
  LinkBytes carried = of_micro_batch * strategy_.micro_batches;
  carried += carried_for_replicas(*layout.ways, all);
  if (workload_.training && !memory.holds_weights) {
    const plan::Update update =
        plan::update_of(workload_, all.optimizer, all.updated_weights, all.updated_gradients);
    carried.of[LinkBytes::reads] += static_cast<double>(update.read.count());
    carried.of[LinkBytes::writes] += static_cast<double>(update.written.count());
  }
  return carried;
}

// About half of what tiles compute goes on beside that, as simulations have shown: reads of weights
// do, and collectives that they wait for do not.
Span Forecaster::on_crowded_links(const PerLayout& layout, const std::vector<StageTimes>& stages) {
  if (!layout.ways->has_crowded_links()) {
    return {};
  }
  std::vector<LinkBytes> carried;
  double computed = 0;
  for (const StageTimes& stage : stages) {
    carried.push_back(stage.carried);
    computed = std::max(computed, stage.computed);
  }
  const double busy = layout.ways->busiest(carried);
  return {busy, busy + computed / 2};
}

}  // namespace tessera::explore
