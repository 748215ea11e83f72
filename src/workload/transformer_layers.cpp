#include "transformer_layers.hpp"

#include <string>
#include <utility>

namespace tessera::workload {
namespace {

// FLOPs an element of an operator that is no product: counted from the formula, one for each
// arithmetic operation, comparison, exponential and tanh (assumed: what such a function costs on
// hardware is not known here).
struct VectorCost {
  std::uint64_t forward;
  std::uint64_t backward;
};
// Forward: mean 1, centre 1, variance 2, divide by the deviation 1, gain 1, shift 1. Backward:
// normalised input again 2, gradients of gain and shift 3, of the input 8 (two means over the row).
constexpr VectorCost layer_norm_cost{7, 13};
// Scale 1, mask 1, maximum 1, subtract 1, exponential 1, sum 1, divide 1, dropout 2. Backward:
// dropout 2, inner product with the gradient 2, subtract 1, multiply 1, scale 1.
constexpr VectorCost softmax_cost{9, 7};
// x/2 (1 + tanh(k x (1 + c x^2))), backward with the tanh computed again (Hendrycks, Gimpel,
// arXiv:1606.08415).
constexpr VectorCost gelu_cost{9, 18};
// Dropout 2 (mask, rescale), sum 1.
constexpr VectorCost skip_cost{3, 3};
constexpr VectorCost dropout_cost{2, 2};
// Looked up without arithmetic; the gradient is added to the row of the token.
constexpr VectorCost word_embedding_cost{0, 1};
constexpr VectorCost position_embedding_cost{1, 1};
// Maximum 1, subtract 1, exponential 1, sum 1. Backward: softmax minus the target 1, scale 1.
constexpr VectorCost loss_cost{4, 2};

constexpr std::uint64_t mask_bytes = 1;   // of a dropout mask, an element
constexpr std::uint64_t logit_bytes = 4;  // the loss is computed in fp32

Operator vector_operator(std::string name, std::string kind, Sharding sharding, VectorCost cost,
                         std::uint64_t inputs, std::uint64_t outputs) {
  Operator op;
  op.name = std::move(name);
  op.kind = std::move(kind);
  op.sharding = sharding;
  op.forward_flops = Flops(cost.forward * outputs);
  op.backward_flops = Flops(cost.backward * outputs);
  op.input_elements = inputs;
  op.output_elements = outputs;
  return op;
}

Operator product_operator(std::string name, std::string kind, Sharding sharding,
                          MatrixProduct product) {
  Operator op;
  op.name = std::move(name);
  op.kind = std::move(kind);
  op.sharding = sharding;
  op.product = product;
  op.forward_flops = product.flops();
  op.backward_flops = product.flops() + product.flops();
  op.output_elements = product.rows * product.columns * product.count;
  return op;
}

// Makes the operators of one shape.
class Builder {
 public:
  explicit Builder(const TransformerShape& shape)
      : shape_(shape), tokens_(shape.sequence), activation_(shape.sequence * shape.hidden) {}

  std::uint64_t activation() const { return activation_; }

  Operator word_embedding() const {
    Operator op = vector_operator("word_embedding", "embedding", Sharding::row, word_embedding_cost,
                                  tokens_, activation_);
    op.parameters = shape_.vocabulary * shape_.hidden;
    op.forward_all_reduce_elements = activation_;
    return op;
  }

  Operator position_embedding() const {
    Operator op = vector_operator("position_embedding", "embedding", Sharding::replicated,
                                  position_embedding_cost, activation_, activation_);
    op.parameters = activation_;
    return op;
  }

  Operator embedding_dropout() const {
    Operator op = vector_operator("embedding_dropout", "elementwise", Sharding::replicated,
                                  dropout_cost, activation_, activation_);
    op.stored_whole = Bytes(mask_bytes * activation_);
    return op;
  }

  Operator layer_norm(std::string name) const {
    Operator op = vector_operator(std::move(name), "layer_norm", Sharding::replicated,
                                  layer_norm_cost, activation_, activation_);
    op.parameters = 2 * shape_.hidden;
    op.stored_whole = stored(activation_);
    return op;
  }

  // Every token's `inputs` times a weight, to `outputs`.
  Operator linear(std::string name, Sharding sharding, std::uint64_t inputs, std::uint64_t outputs,
                  bool bias) const {
    Operator op =
        product_operator(std::move(name), "linear", sharding, {tokens_, outputs, inputs, 1});
    op.parameters = inputs * outputs + (bias ? outputs : 0);
    op.input_elements = tokens_ * inputs;
    if (sharding == Sharding::column) {
      op.stored_whole = stored(op.input_elements);
      op.backward_all_reduce_elements = op.input_elements;
    } else {
      op.replicated_parameters = bias ? outputs : 0;
      op.stored_cut = stored(op.input_elements);
      op.forward_all_reduce_elements = op.output_elements;
    }
    return op;
  }

  Operator attention_scores() const {
    Operator op = product_operator("attention_scores", "attention", Sharding::heads,
                                   {tokens_, tokens_, head_width(), shape_.heads});
    op.input_elements = 2 * activation_;
    op.stored_cut = stored(2 * activation_);  // queries and keys
    return op;
  }

  // With the dropout of the attention weights.
  Operator softmax() const {
    Operator op = vector_operator("softmax", "softmax", Sharding::heads, softmax_cost,
                                  attention_weights(), attention_weights());
    op.stored_cut = stored(attention_weights()) + Bytes(mask_bytes * attention_weights());
    return op;
  }

  Operator attention_values() const {
    Operator op = product_operator("attention_values", "attention", Sharding::heads,
                                   {tokens_, head_width(), tokens_, shape_.heads});
    op.input_elements = attention_weights() + activation_;
    op.stored_cut = stored(attention_weights() + activation_);  // weights after dropout, values
    return op;
  }

  Operator gelu() const {
    const std::uint64_t elements = tokens_ * shape_.ffn;
    Operator op =
        vector_operator("gelu", "elementwise", Sharding::heads, gelu_cost, elements, elements);
    op.stored_cut = stored(elements);
    return op;
  }

  Operator skip(std::string name) const {
    Operator op = vector_operator(std::move(name), "elementwise", Sharding::replicated, skip_cost,
                                  2 * activation_, activation_);
    op.stored_whole = Bytes(mask_bytes * activation_);
    return op;
  }

  Operator language_model_head() const {
    Operator op = linear("lm_head", Sharding::column, shape_.hidden, shape_.vocabulary, false);
    if (shape_.tie_embeddings) {
      op.shared_parameters = std::exchange(op.parameters, 0);
    }
    return op;
  }

  Operator loss() const {
    const std::uint64_t logits = tokens_ * shape_.vocabulary;
    Operator op = vector_operator("loss", "loss", Sharding::heads, loss_cost, logits, logits);
    op.output_elements = tokens_;
    op.stored_cut = Bytes(logit_bytes * logits);
    op.forward_all_reduce_elements = 3 * tokens_;
    return op;
  }

 private:
  std::uint64_t head_width() const { return shape_.hidden / shape_.heads; }
  std::uint64_t attention_weights() const { return shape_.heads * tokens_ * tokens_; }
  Bytes stored(std::uint64_t elements) const { return element_size(shape_.data_type) * elements; }

  TransformerShape shape_;
  std::uint64_t tokens_;
  std::uint64_t activation_;
};

}  // namespace

Layer embedding_layer(const TransformerShape& shape) {
  const Builder make(shape);
  Layer layer{"embedding", {make.word_embedding()}, make.activation()};
  if (shape.learned_positions) {
    layer.operators.push_back(make.position_embedding());
  }
  layer.operators.push_back(make.embedding_dropout());
  return layer;
}

Layer decoder_layer(const TransformerShape& shape, std::uint64_t number) {
  const Builder make(shape);
  const std::uint64_t h = shape.hidden;
  return {"layer " + std::to_string(number),
          {make.layer_norm("ln1"), make.linear("qkv", Sharding::column, h, 3 * h, shape.biases),
           make.attention_scores(), make.softmax(), make.attention_values(),
           make.linear("attention_output", Sharding::row, h, h, shape.biases), make.skip("skip1"),
           make.layer_norm("ln2"),
           make.linear("mlp_up", Sharding::column, h, shape.ffn, shape.biases), make.gelu(),
           make.linear("mlp_down", Sharding::row, shape.ffn, h, shape.biases), make.skip("skip2")},
          make.activation()};
}

Layer head_layer(const TransformerShape& shape) {
  const Builder make(shape);
  return {
      "head", {make.layer_norm("final_layer_norm"), make.language_model_head(), make.loss()}, 0};
}

}  // namespace tessera::workload
