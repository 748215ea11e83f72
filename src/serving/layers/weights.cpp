#include "layers/weights.hpp"

#include <algorithm>

#include "layers/state_space.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/workload/transformer/model.hpp"

namespace tessera::serving {
namespace {

using workload::Operator;
using workload::Sharding;

class Shards {
 public:
  explicit Shards(const LanguageSetup& setup)
      : setup_(setup), element_(element_size(setup.shape.data_type)) {}

  Bytes of_layer(const workload::Layer& layer) const {
    Bytes sum;
    for (const Operator& op : layer.operators) {
      if (op.parameters > 0) {
        sum += of(op);
      }
    }
    return sum;
  }
  // Of the vocabulary.
  Bytes table() const {
    return element_ * (quotient_up(setup_.shape.vocabulary, setup_.tensor) * setup_.shape.hidden);
  }

 private:
  Bytes of(const Operator& op) const {
    if (op.kind == "embedding" && op.sharding == Sharding::row) {
      return table();
    }
    if (op.name == "ssm_convolution") {
      return element_ * StateSpace(setup_).convolution_weights();
    }
    if (op.sharding == Sharding::heads) {
      return element_ * quotient_up(op.parameters, setup_.tensor);
    }
    return op.is_matrix_product() ? of_product(op) : element_ * op.parameters;
  }

  Bytes of_product(const Operator& op) const {
    const workload::MatrixProduct& whole = op.product;
    const std::uint64_t biases =
        op.parameters + op.shared_parameters - whole.columns * whole.depth * whole.count;
    const std::uint64_t columns = columns_of(op);
    const std::uint64_t depth =
        op.sharding == Sharding::row ? quotient_up(whole.depth, setup_.tensor) : whole.depth;
    const std::uint64_t count =
        op.name.starts_with("expert_") ? quotient_up(whole.count, setup_.expert) : whole.count;
    const std::uint64_t kept_biases = biases == 0 ? 0 : columns * count;
    return of_matrix(op, Wide{columns} * depth * count) + element_ * kept_biases;
  }

  std::uint64_t columns_of(const Operator& op) const {
    if (op.sharding != Sharding::column) {
      return op.product.columns;
    }
    const workload::TransformerShape& shape = setup_.shape;
    if (op.name == "qkv") {  // heads are whole
      const std::uint64_t kv_heads = std::max<std::uint64_t>(1, shape.kv_heads / setup_.tensor);
      return (shape.heads / setup_.tensor + 2 * kv_heads) * shape.head_width;
    }
    if (op.name == "ssm_input") {
      return StateSpace(setup_).projected();
    }
    // Gate and up of a unit are of the same columns.
    const bool gated = shape.mlp == workload::Activation::swiglu &&
                       (op.name == "mlp_up" || op.name == "expert_up" || op.name == "shared_up");
    const std::uint64_t sides = gated ? 2 : 1;
    return sides * quotient_up(op.product.columns / sides, setup_.tensor);
  }

  std::optional<npu::StoredWeights> stored(const Operator& op) const {
    const WeightTypes& types = setup_.weights;
    if (op.name == "router") {
      return types.router;
    }
    if (op.name == "lm_head") {
      return types.head;
    }
    if (op.sharding == Sharding::replicated) {
      return std::nullopt;
    }
    const bool is_mlp = op.name.starts_with("mlp_") || op.name.starts_with("shared_");
    return op.name.starts_with("expert_") ? types.experts : is_mlp ? types.mlp : types.attention;
  }
  Bytes of_matrix(const Operator& op, Wide elements) const {
    return Bytes(stored(op).value_or(npu::StoredWeights::plain(element_)).bytes_of(elements));
  }

  const LanguageSetup& setup_;
  Bytes element_;
};

}  // namespace

std::vector<Bytes> weights_of_stages(const LanguageSetup& setup) {
  const std::vector<workload::Layer> layers = workload::transformer_layers(setup.shape);
  const Shards shards(setup);
  std::vector<Bytes> of_stage(setup.pipeline);
  of_stage.front() += shards.of_layer(layers.front());
  for (std::uint64_t layer = 0; layer < setup.shape.layers; ++layer) {
    of_stage[stage_of(setup, layer)] += shards.of_layer(layers[layer + 1]);
  }
  const workload::Layer& head = layers.back();
  of_stage.back() += shards.of_layer(head);
  const bool is_tied = head.shared_parameters() > 0;
  if (is_tied && setup.pipeline > 1) {
    of_stage.back() += shards.table();
  }
  return of_stage;
}

}  // namespace tessera::serving
