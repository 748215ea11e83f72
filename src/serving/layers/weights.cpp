#include "layers/weights.hpp"

#include "layers/sources.hpp"
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
  // Of the vocabulary: `op` looks it up, or is a head that is tied to it.
  Bytes table(const Operator& op) const {
    const Wide rows = quotient_up(setup_.shape.vocabulary, setup_.tensor);
    return of_matrix(op, rows * setup_.shape.hidden);
  }

 private:
  Bytes of(const Operator& op) const {
    if (op.kind == "embedding" && op.sharding == Sharding::row) {
      return table(op);
    }
    if (op.kind == "embedding") {
      return of_matrix(op, op.parameters);
    }
    if (op.is_matrix_product()) {
      return of_product(op);
    }
    if (!op.blocks.empty()) {  // as many of each channel
      const std::uint64_t of_channel = op.parameters / op.shard_columns(1);
      return element_ * (of_channel * op.shard_columns(setup_.tensor));
    }
    return element_ * (op.sharding == Sharding::heads ? quotient_up(op.parameters, setup_.tensor)
                                                      : op.parameters);
  }

  Bytes of_product(const Operator& op) const {
    const workload::MatrixProduct shard = op.shard_product(setup_.tensor);
    const std::uint64_t count =
        op.experts > 0 ? quotient_up(shard.count, setup_.expert) : shard.count;
    const std::uint64_t biases = biases_of(op) == 0 ? 0 : shard.columns * count;
    return of_matrix(op, Wide{shard.columns} * shard.depth * count) + element_ * biases;
  }

  Bytes of_matrix(const Operator& op, Wide elements) const {
    return Bytes(setup_.weights.stored_of(op)
                     .value_or(npu::StoredWeights::plain(element_))
                     .bytes_of(elements));
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
  for (const Operator& op : head.operators) {
    const bool is_tied = op.shared_parameters > 0;
    of_stage.back() += is_tied && setup.pipeline > 1 ? shards.table(op) : Bytes();
  }
  return of_stage;
}

}  // namespace tessera::serving
