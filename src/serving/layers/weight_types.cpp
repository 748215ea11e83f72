#include "tessera/serving/weight_types.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving {
namespace {

constexpr std::string_view table_of_words = "word_embedding";

const WeightOperator* find(std::string_view name) {
  const std::vector<WeightOperator>& all = weight_operators();
  const auto found =
      std::ranges::find_if(all, [name](const WeightOperator& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const std::vector<WeightOperator>& weight_operators() {
  using enum WeightClass;
  static const std::vector<WeightOperator> all{
      {std::string(table_of_words), std::nullopt},
      {"position_embedding", std::nullopt},
      {"qkv", attention},
      {"q_down", attention},
      {"kv_down", attention},
      {"q", attention},
      {"q_up", attention},
      {"kv_up", attention},
      {"attention_output", attention},
      {"ssm_input", attention},
      {"ssm_output", attention},
      {"router", router},
      {"mlp_up", mlp},
      {"mlp_down", mlp},
      {"expert_up", experts},
      {"expert_down", experts},
      {"shared_up", mlp},
      {"shared_down", mlp},
      {"lm_head", head},
  };
  return all;
}

std::vector<WeightOperator> weight_operators_of(const workload::TransformerShape& shape) {
  std::vector<WeightOperator> had;
  const std::vector<workload::Layer> layers = workload::transformer_layers(shape);
  for (const WeightOperator& one : weight_operators()) {
    const auto is_in = [&](const workload::Layer& layer) {
      return std::ranges::any_of(layer.operators, [&](const workload::Operator& op) {
        return op.name == one.name && op.parameters > 0;
      });
    };
    if (std::ranges::any_of(layers, is_in)) {
      had.push_back(one);
    }
  }
  return had;
}

WeightTypes WeightTypes::of_layers(const std::optional<npu::StoredWeights>& stored) {
  WeightTypes types;
  for (const WeightClass each : {WeightClass::attention, WeightClass::mlp, WeightClass::experts}) {
    types.of(each) = stored;
  }
  return types;
}

std::optional<npu::StoredWeights> WeightTypes::stored_of(const workload::Operator& op) const {
  const bool is_tied = op.is_matrix_product() && op.shared_parameters > 0;
  const std::string_view name = is_tied ? table_of_words : std::string_view(op.name);
  if (const auto own = operators_.find(name); own != operators_.end()) {
    return own->second;
  }
  const WeightOperator* const known = find(name);
  ensure(known != nullptr || !op.is_matrix_product(),
         "weights of an operator of the model have no type");
  return known != nullptr && known->of_class
             ? classes_.at(static_cast<std::size_t>(*known->of_class))
             : std::nullopt;
}

}  // namespace tessera::serving
