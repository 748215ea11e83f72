#include "serving/served/layers.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/plan/sharder.hpp"
#include "tessera/sim/onnx/layers.hpp"

namespace tessera::sim {
namespace {

using serving::Exchange;
using serving::StepSizes;
using serving::TileOperation;
using serving::Walk;
using serving::WalkPart;

// What an op is of its operator, which is op / parts.
enum Part : std::uint32_t { of_work, of_sum, of_hand_on, parts };
constexpr std::size_t most_operators = (std::size_t{1} << serving::OperatorName::op_bits) / parts;

// An operator on one unit.
struct CutOperator {
  TileOperation made;
  Bytes summed;  // over the shards behind it
  std::uint32_t stage = 0;
};

// The model for one number of samples.
struct CutModel {
  std::vector<CutOperator> operators;
  std::vector<std::string> names;  // [operators]
  std::vector<Walk> walks;         // [stages]
  std::vector<Bytes> handed_on;    // [stages] by each unit
  std::vector<Bytes> weights;      // [stages] of each unit
  std::uint64_t flops = 0;
};

plan::Strategy strategy_of(const ServedLayersSetup& setup) {
  plan::Strategy strategy;
  strategy.degrees.tensor = setup.tensor;
  strategy.degrees.pipeline = setup.pipeline;
  return strategy;
}

void refuse_heads(const workload::Workload& workload, std::uint32_t tensor) {
  for (const workload::Layer& layer : workload.layers) {
    for (const workload::Operator& op : layer.operators) {
      const bool is_cut = op.sharding == workload::Sharding::heads;
      if (is_cut && (op.product.count % tensor != 0 || op.kv_heads % tensor != 0)) {
        throw ConfigError("tensor: the heads of '" + op.name + "' cannot be shared out among " +
                          std::to_string(tensor) + " tiles");
      }
    }
  }
}

// First layers of stages, and the end.
std::vector<std::size_t> stages_of(const workload::Workload& workload, std::uint32_t pipeline) {
  if (pipeline > workload.layers.size()) {
    throw ConfigError("pipeline: more stages than the model falls into layers (" +
                      std::to_string(workload.layers.size()) + ")");
  }
  std::vector<std::uint64_t> costs;
  for (const workload::Layer& layer : workload.layers) {
    costs.push_back(layer.forward_flops().count());
  }
  return plan::balance_layers({costs}, std::vector<std::size_t>(pipeline));
}

// Cuts the layers of one workload.
class Cutting {
 public:
  Cutting(const workload::Workload& workload, const plan::Strategy& strategy,
          const std::vector<std::size_t>& stages)
      : workload_(workload), strategy_(strategy), sharder_(workload, strategy) {
    made_.flops = workload.flops_per_sample().count();
    for (std::size_t stage = 0; stage + 1 < stages.size(); ++stage) {
      add_stage(stages[stage], stages[stage + 1]);
    }
  }

  CutModel take() { return std::move(made_); }

 private:
  void add_stage(std::size_t first, std::size_t end) {
    Walk walk;
    if (first > 0) {
      walk.push_back({last_op() + of_hand_on, WalkPart::Kind::await});
    }
    Bytes weights;
    for (std::size_t layer = first; layer < end; ++layer) {
      for (const workload::Operator& op : workload_.layers[layer].operators) {
        add(op, walk);
      }
      weights += sharder_.bytes_of(workload_.layers[layer]).weights;
    }
    if (end < workload_.layers.size()) {
      walk.push_back({last_op() + of_hand_on, WalkPart::Kind::hand_on});
    }
    made_.handed_on.push_back(sharder_.tensor_bytes(workload_.layers[end - 1].boundary_elements));
    made_.weights.push_back(weights);
    made_.walks.push_back(std::move(walk));
  }

  void add(const workload::Operator& op, Walk& walk) {
    CutOperator made;
    made.stage = static_cast<std::uint32_t>(made_.walks.size());
    made.made.operation = sharder_.forward(op);
    made.made.weights = sharder_.operands(op).weights;
    if (strategy_.degrees.tensor > 1) {
      made.summed = sharder_.tensor_bytes(op.forward_all_reduce_elements);
    }
    made_.operators.push_back(made);
    made_.names.push_back(op.name);
    if (made_.operators.size() > most_operators) {
      throw ConfigError("the model has more than " + std::to_string(most_operators) + " operators");
    }
    walk.push_back({last_op() + of_work, WalkPart::Kind::operation});
    if (made.summed > Bytes()) {
      walk.push_back({last_op() + of_sum, WalkPart::Kind::collective});
    }
  }

  std::uint32_t last_op() const {
    return static_cast<std::uint32_t>((made_.operators.size() - 1) * parts);
  }

  const workload::Workload& workload_;
  const plan::Strategy& strategy_;
  plan::Sharder sharder_;
  CutModel made_;
};

class ServedLayers final : public serving::ServedModel, public serving::TileModel {
 public:
  explicit ServedLayers(ServedLayersSetup setup)
      : setup_(std::move(setup)), strategy_(strategy_of(setup_)) {
    const CutModel& largest = cut(setup_.samples.back());
    cut(setup_.samples.front());
    names_ = largest.names;
    names_.emplace_back("sum over shards");
    names_.emplace_back("handing on");
    weights_ = *std::max_element(largest.weights.begin(), largest.weights.end());
  }

  std::uint32_t units() const override { return setup_.tensor * setup_.pipeline; }
  std::uint32_t stages() const override { return setup_.pipeline; }
  serving::Step step(const serving::Batch& batch) const override {
    return {serving::StepPart{0, sizes_of(batch).words()[0], 0, false, {}}};
  }
  Exchange exchange(std::uint32_t op, std::uint64_t shape) const override;
  Wide flops(const serving::Batch& batch) const override { return cut(batch.samples).flops; }
  const std::vector<std::string>& names() const override { return names_; }
  std::uint32_t name_of(std::uint32_t op) const override {
    const auto operators = static_cast<std::uint32_t>(names_.size() - 2);
    return op % parts == of_work  ? std::min(op / parts, operators - 1)
           : op % parts == of_sum ? operators
                                  : operators + 1;
  }
  Bytes weights() const override { return weights_; }

  const serving::TileModel* on_tiles() const override { return this; }
  StepSizes sizes_of(const serving::Batch& batch) const override {
    StepSizes sizes;
    sizes.tokens = batch.samples;
    return sizes;
  }
  const Walk& walk(std::uint32_t unit, const StepSizes& sizes) const override {
    return cut(sizes.tokens).walks[unit / setup_.tensor];
  }
  StepSizes needed(std::uint32_t, const StepSizes& sizes) const override { return sizes; }
  TileOperation operation(std::uint32_t op, const StepSizes& sizes) const override {
    return cut(sizes.tokens).operators.at(op / parts).made;
  }

  std::shared_ptr<const npu::TiledOperator> make(std::uint32_t, std::uint64_t,
                                                 std::uint64_t) const override {
    throw InternalError("a model on tiles has no operators of NPU cores");
  }
  std::uint64_t operand_begin(std::uint32_t, std::uint8_t) const override { return 0; }
  std::uint64_t memory_end() const override { return 0; }

 private:
  // Ranks that are threads share what was made, which stays where it is.
  const CutModel& cut(std::uint64_t samples) const {
    const std::scoped_lock lock(mutex_);
    const auto found = cut_.find(samples);
    return found != cut_.end() ? found->second
                               : cut_.emplace(samples, make_cut(samples)).first->second;
  }
  CutModel make_cut(std::uint64_t samples) const;

  ServedLayersSetup setup_;
  plan::Strategy strategy_;
  std::vector<std::string> names_;
  Bytes weights_;
  mutable std::mutex mutex_;
  mutable std::vector<std::size_t> stages_;  // of the first that was made: the largest batch
  mutable std::map<std::uint64_t, CutModel> cut_;
};

CutModel ServedLayers::make_cut(std::uint64_t samples) const {
  const workload::Workload workload =
      layers_of(setup_.graph_of(static_cast<std::uint32_t>(samples)), setup_.data_type);
  refuse_heads(workload, setup_.tensor);
  const std::string other = "pipeline: with " + std::to_string(samples) +
                            " samples the model falls into other layers " + "than with " +
                            std::to_string(setup_.samples.back()) +
                            ", so that weights would have to move between stages";
  if (cut_.empty()) {
    stages_ = stages_of(workload, setup_.pipeline);
  } else if (setup_.pipeline == 1) {
    stages_.back() = workload.layers.size();
  } else if (workload.layers.size() != stages_.back()) {
    throw ConfigError(other);
  }
  CutModel made = Cutting(workload, strategy_, stages_).take();
  if (setup_.pipeline > 1 && !cut_.empty() && made.weights != cut_.begin()->second.weights) {
    throw ConfigError(other);
  }
  return made;
}

Exchange ServedLayers::exchange(std::uint32_t op, std::uint64_t shape) const {
  const CutModel& model = cut(shape);
  const CutOperator& behind = model.operators.at(op / parts);
  const bool hands_on = op % parts == of_hand_on;
  const std::uint32_t first = behind.stage * setup_.tensor;
  if (hands_on) {
    return {std::nullopt, first, setup_.tensor, model.handed_on[behind.stage]};
  }
  return {collective::Kind::all_reduce, first, setup_.tensor, behind.summed};
}

}  // namespace

std::unique_ptr<serving::ServedModel> make_served_layers(ServedLayersSetup setup) {
  return std::make_unique<ServedLayers>(std::move(setup));
}

}  // namespace tessera::sim
