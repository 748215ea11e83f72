// How the weights of a language model lie in memory, each tensor as it is stored in checkpoints of
// few bits: experts in fp4 beside attention in bf16, or one product in more bits than all others.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/npu/stored_weights.hpp"
#include "tessera/workload/transformer/transformer.hpp"
#include "tessera/workload/workload.hpp"

namespace tessera::serving {

// Of products.
enum class WeightClass : std::uint8_t {
  attention,  // queries, keys, values and outputs; inputs and outputs of state-space layers
  mlp,        // and experts that work on every token
  experts,    // that tokens choose
  router,
  head,  // that gives the logits; none where it is tied
};
inline constexpr std::size_t weight_class_count = 5;

// An operator of workload::transformer_layers whose weights can have a type of their own.
struct WeightOperator {
  std::string name;
  // None: of tables.
  std::optional<WeightClass> of_class;
};

// All that models have, in the order of a step.
const std::vector<WeightOperator>& weight_operators();
// Those of them that a model has, a head that is tied to the table apart.
std::vector<WeightOperator> weight_operators_of(const workload::TransformerShape& shape);

// None: of the model's data type, as norms and biases always are.
class WeightTypes {
 public:
  // Of all products of layers but the router that have a class.
  static WeightTypes of_layers(const std::optional<npu::StoredWeights>& stored);

  std::optional<npu::StoredWeights>& of(WeightClass of_class) {
    return classes_.at(static_cast<std::size_t>(of_class));
  }
  // Of one operator, in place of its class.
  void set(const std::string& name, const npu::StoredWeights& stored) {
    operators_.insert_or_assign(name, stored);
  }

  // Of an operator by itself. A head that is tied to the table lies as this does.
  std::optional<npu::StoredWeights> stored_of(const workload::Operator& op) const;

 private:
  std::array<std::optional<npu::StoredWeights>, weight_class_count> classes_{};
  std::map<std::string, npu::StoredWeights, std::less<>> operators_{};
};

}  // namespace tessera::serving
