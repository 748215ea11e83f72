#include "serving/served/graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/sim/onnx/lowering.hpp"

namespace tessera::sim {
namespace {

using Operators = std::vector<executor::ChipOperator>;

class ServedGraph final : public serving::ServedModel {
 public:
  explicit ServedGraph(ServedGraphSetup setup) : setup_(std::move(setup)) {
    lowered(setup_.samples.front(), setup_.cores);
    // Operands lie as those of the largest batch, with which every operator is there.
    const std::uint32_t most = setup_.samples.back();
    for (const auto& op : lowered(most, setup_.cores)) {
      names_.push_back(op.name);
      begins_.push_back(npu::place_operands(*op.tiles, end_));
    }
    weights_ = parameter_bytes(graphs_.at(most), setup_.data_type);
  }

  std::uint32_t units() const override { return 1; }
  std::uint32_t stages() const override { return 1; }

  serving::Step step(const serving::Batch& batch) const override {
    serving::Step step;
    for (const auto& op : lowered(batch.samples, setup_.cores)) {
      step.push_back({static_cast<std::uint32_t>(step.size()), batch.samples, 0, false, op.after});
    }
    return step;
  }
  serving::Exchange exchange(std::uint32_t, std::uint64_t) const override {
    throw InternalError("a model on one NPU exchanges nothing");
  }
  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t op, std::uint64_t shape,
                                                 std::uint64_t cores) const override {
    const Operators& operators = lowered(static_cast<std::uint32_t>(shape), cores);
    return {std::shared_ptr<void>(), operators.at(op).tiles.get()};  // kept here
  }
  const std::vector<std::string>& names() const override { return names_; }
  std::uint32_t name_of(std::uint32_t op) const override {
    return std::min(op, static_cast<std::uint32_t>(names_.size()) - 1);
  }
  std::uint64_t operand_begin(std::uint32_t op, std::uint8_t operand) const override {
    return op < begins_.size() ? begins_[op][operand] : 0;
  }
  std::uint64_t memory_end() const override { return end_; }
  // Of the model's nodes, as of operators on a chip.
  Wide flops(const serving::Batch& batch) const override {
    Wide sum = 0;
    for (const auto& op : lowered(batch.samples, setup_.cores)) {
      sum += op.flops.value_or(Flops()).count();
    }
    return sum;
  }
  Bytes weights() const override { return weights_; }

 private:
  // The same operators for any number of cores, cut otherwise. Ranks that are threads share them.
  const Operators& lowered(std::uint32_t samples, std::uint64_t cores) const {
    const std::scoped_lock lock(mutex_);
    Operators& operators = lowered_[{samples, cores}];
    if (operators.empty()) {
      operators = lower_graph(graph_of(samples), {setup_.core, cores, setup_.data_type, false});
      if (operators.empty()) {
        throw ConfigError("the model has nothing to compute or move");
      }
      if (operators.size() > 1U << serving::OperatorName::op_bits) {
        throw ConfigError("the model has more than " +
                          std::to_string(1U << serving::OperatorName::op_bits) + " operators");
      }
    }
    return operators;
  }
  const onnx::Graph& graph_of(std::uint32_t samples) const {
    const auto found = graphs_.find(samples);
    return found != graphs_.end()
               ? found->second
               : graphs_.emplace(samples, setup_.graph_of(samples)).first->second;
  }

  ServedGraphSetup setup_;
  std::vector<std::string> names_;
  std::vector<std::array<std::uint64_t, npu::most_operands>> begins_;
  std::uint64_t end_ = 0;
  Bytes weights_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint32_t, onnx::Graph> graphs_;  // by samples
  mutable std::map<std::pair<std::uint32_t, std::uint64_t>, Operators> lowered_;
};

}  // namespace

std::unique_ptr<serving::ServedModel> make_served_graph(ServedGraphSetup setup) {
  return std::make_unique<ServedGraph>(std::move(setup));
}

}  // namespace tessera::sim
