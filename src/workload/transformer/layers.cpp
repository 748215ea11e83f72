#include "transformer/layers.hpp"

#include <iterator>
#include <string>
#include <utility>

namespace tessera::workload {
namespace {

// Added to the word's; the gradient is added to the row of the position or type.
constexpr VectorCost added_embedding_cost{1, 1, 1};
// Maximum 1, subtract 1, exponential 1, sum 1. Backward: softmax minus the target 1, scale 1.
constexpr VectorCost loss_cost{4, 2, 0};
// The tanh; backward 1 - y^2, times the gradient.
constexpr VectorCost tanh_cost{1, 3, 0};

constexpr std::uint64_t logit_bytes = 4;  // the loss is computed in fp32
// Reads and writes of all logits in fp32, an operation at a time as in Megatron-LM
// (mpu/cross_entropy.py): the copy 1, maximum 1, subtract 2, exponential 2, sum 1, divide 2;
// backward scale 2, the copy back 1.
struct Passes {
  std::uint64_t forward;
  std::uint64_t backward;
};
constexpr Passes loss_passes{9, 3};
// One kernel each way: the logits are read once, and their gradient takes their place. In the data
// type, which inputs and outputs already count.
constexpr Passes fused_loss_passes{0, 0};
// PyTorch: the copy 1, the logarithmic softmax 2; backward the gradient of the chosen ones filled
// in 1, that of the softmax 3, the copy back 1.
constexpr Passes eager_loss_passes{3, 5};

using Operators = std::vector<Operator>;

void append(Operators& operators, Operators more) {
  operators.insert(operators.end(), std::make_move_iterator(more.begin()),
                   std::make_move_iterator(more.end()));
}

// Of a layer that full recomputation leaves alone.
Operators kept_whole(Operators operators) {
  for (Operator& op : operators) {
    op.recomputed_fully = false;
  }
  return operators;
}

// Of a repeated layer: products with weights are made in the narrow type, as Transformer Engine
// does.
Operators narrowed(Operators operators) {
  for (Operator& op : operators) {
    op.narrow = op.is_matrix_product() && op.parameters > 0;
  }
  return operators;
}

// Backward, a layer's last product needs its inputs alone, and a sum behind it nothing.
Operators told_where_needs_end(Operators operators) {
  for (auto op = operators.rbegin(); op != operators.rend(); ++op) {
    const bool is_sum = op->additive && op->stored_cut + op->stored_whole == Bytes();
    const bool is_product = op->is_matrix_product() && op->parameters > 0 && op->experts == 0;
    op->needed_again = !is_sum && !is_product;
    if (!is_sum) {
      break;
    }
  }
  return operators;
}

// Results that torchtitan's activation checkpointing by operations keeps: of attention, and of
// every other product with weights, those with queries, keys, values, gate and rest each counted
// for itself, as its Llama has them (torchtitan/parallelisms/parallelize_llama.py).
Operators kept_alternately(Operators operators, const TransformerShape& shape) {
  const bool each_apart = shape.mlp == Activation::swiglu;
  const std::uint64_t q = shape.heads * shape.head_width;
  const std::uint64_t kv = shape.kv_heads * shape.head_width;
  std::uint64_t number = 0;
  for (auto op_place = operators.begin(); op_place != operators.end(); ++op_place) {
    Operator& op = *op_place;
    op.output_is_read = op_place + 1 == operators.end() || !(op_place + 1)->additive;
    if (op.kernel == Kernel::fused_attention) {
      op.kept_results = op.output_elements;
    } else if (op.is_matrix_product() && op.parameters > 0 && op.experts == 0) {
      const std::uint64_t columns = op.product.columns;
      std::vector<std::uint64_t> parts{columns};
      if (each_apart && columns == q + 2 * kv) {
        parts = {q, kv, kv};
      } else if (each_apart && columns == 2 * shape.ffn) {
        parts = {shape.ffn, shape.ffn};
      }
      op.parts = static_cast<std::uint32_t>(parts.size());
      std::uint64_t kept = 0;
      for (const std::uint64_t part : parts) {
        kept += number++ % 2 == 0 ? part : 0;
      }
      op.kept_results = op.output_elements / columns * kept;
    }
  }
  return operators;
}

// What a repeated layer's operators are told of each other.
Operators repeated(Operators operators, const TransformerShape& shape) {
  return told_where_needs_end(narrowed(kept_alternately(std::move(operators), shape)));
}

// Makes the layers over one sequence: of the decoder, or of the encoder.
class Builder {
 public:
  Builder(const TransformerShape& shape, std::uint64_t tokens)
      : shape_(shape),
        make_(shape.data_type, shape.dropout),
        tokens_(tokens),
        activation_(tokens * shape.hidden) {}

  std::uint64_t activation() const { return activation_; }

  // `shared`: the words' vectors are another layer's.
  Operators embedding(bool shared) const {
    Operators operators{make_.embedding("word_embedding", Sharding::row, shape_.vocabulary, tokens_,
                                        shape_.hidden)};
    if (shared) {
      operators[0].shared_parameters = std::exchange(operators[0].parameters, 0);
    }
    if (shape_.positions == Positions::learned) {
      operators.push_back(added_embedding("position_embedding", tokens_));
    }
    if (shape_.token_types > 0) {
      operators.push_back(added_embedding("token_type_embedding", shape_.token_types));
    }
    if (shape_.norm_after) {
      operators.push_back(norm("embedding_" + to_string(shape_.norm)));
    }
    if (shape_.dropout) {
      operators.push_back(make_.dropout("embedding_dropout", Sharding::replicated, activation_));
    }
    return operators;
  }

  Operator norm(std::string name) const {
    return make_.norm(std::move(name), shape_.norm, Sharding::replicated, activation_,
                      shape_.hidden);
  }
  Operator final_norm() const { return norm("final_" + to_string(shape_.norm)); }

  // What comes and goes in another layout, where the shape says so.
  Operators turned(Operators inner) const {
    if (shape_.layout_copies != LayoutCopies::layers) {
      return inner;
    }
    Operators operators{copy("input_copy", Sharding::replicated, activation_)};
    append(operators, std::move(inner));
    operators.push_back(copy("output_copy", Sharding::replicated, activation_));
    operators.back().more_moved_backward = operators.back().more_moved_forward;
    operators.back().additive = true;
    return operators;
  }

  // Norm, `inner` and the skip connection around them, in the order of the shape.
  Operators part(const std::string& number, Operators inner) const {
    const std::string name = (shape_.norm == Norm::layer ? "ln" : "norm") + number;
    Operators operators;
    if (!shape_.norm_after) {
      operators.push_back(norm(name));
    }
    append(operators, std::move(inner));
    operators.push_back(make_.skip("skip" + number, activation_));
    if (shape_.norm_after) {
      operators.push_back(norm(name));
    }
    return operators;
  }

  Operators mixing(Mixer by) const {
    switch (by) {
      case Mixer::attention:
        return self_attention(shape_.causal, 0);
      case Mixer::local:
        return self_attention(shape_.causal, shape_.window);
      case Mixer::ssm:
        return ssm_operators(shape_, tokens_);
      case Mixer::none:
        break;
    }
    return {};
  }

  // `window`: tokens that each sees; 0: all.
  Operators self_attention(bool causal, std::uint64_t window) const {
    if (shape_.latent) {
      return latent_operators(shape_, tokens_, causal);
    }
    const AttentionShape attention = attention_shape(tokens_, causal, window);
    const std::uint64_t q = shape_.heads * shape_.head_width;
    const std::uint64_t kv = shape_.kv_heads * shape_.head_width;
    Operators operators{projection("qkv", tokens_, q + 2 * kv)};
    const ColumnBlock of_keys{shape_.kv_heads, shape_.head_width};
    operators.back().blocks = {{shape_.heads, shape_.head_width}, of_keys, of_keys};
    sum_bias(operators);
    if (shape_.join_gradients) {
      operators.push_back(join("qkv_join", tokens_ * (q + 2 * kv)));
    }
    if (shape_.query_key_norms) {
      operators.push_back(head_norm("query_norm", attention.query_elements()));
      operators.push_back(head_norm("key_norm", attention.key_elements()));
    }
    if (shape_.positions == Positions::rotary) {
      const std::uint64_t turned = attention.query_elements() + attention.key_elements();
      operators.push_back(
          make_.vector("rotary", "elementwise", Sharding::heads, rotary_cost, turned, turned));
      operators.back().kernel = Kernel::rotary;
    }
    append(operators, make_.attention("", Sharding::heads, attention));
    if (shape_.layout_copies != LayoutCopies::none && attention.kind != AttentionKind::flash) {
      operators.push_back(copy("context_copy", Sharding::heads, tokens_ * q));
      operators.back().recomputed_selectively = true;
    }
    operators.push_back(
        make_.linear("attention_output", Sharding::row, tokens_, q, shape_.hidden, shape_.biases));
    sum_bias(operators);
    return operators;
  }

  // With keys and values of the encoder's output.
  Operators cross_attention() const {
    const std::uint64_t q = shape_.heads * shape_.head_width;
    const std::uint64_t kv = shape_.kv_heads * shape_.head_width;
    Operators operators{projection("cross_q", tokens_, q),
                        projection("cross_kv", shape_.encoder_sequence, 2 * kv)};
    append(operators, make_.attention("cross_", Sharding::heads,
                                      attention_shape(shape_.encoder_sequence, false, 0)));
    operators.push_back(
        make_.linear("cross_output", Sharding::row, tokens_, q, shape_.hidden, shape_.biases));
    return operators;
  }

  Operators mlp(std::uint64_t number) const {
    if (shape_.experts && shape_.experts->are_in(number)) {
      return expert_operators(shape_, tokens_, number);
    }
    const std::uint64_t f = shape_.ffn;
    const std::uint64_t up = shape_.mlp == Activation::swiglu ? 2 * f : f;
    Operators operators{
        make_.linear("mlp_up", Sharding::column, tokens_, shape_.hidden, up, shape_.biases)};
    operators.back().blocks = up_blocks(shape_.mlp, f);
    sum_bias(operators);
    operators.push_back(
        make_.activation(to_string(shape_.mlp), shape_.mlp, Sharding::heads, tokens_ * f));
    operators.push_back(
        make_.linear("mlp_down", Sharding::row, tokens_, f, shape_.hidden, shape_.biases));
    sum_bias(operators);
    return operators;
  }

  Operators head() const {
    Operators operators;
    if (!shape_.norm_after) {
      operators.push_back(final_norm());
    }
    if (shape_.head == Head::bert || shape_.head == Head::pooler) {
      const std::uint64_t h = shape_.hidden;
      operators.push_back(make_.linear("pooler", Sharding::replicated, 1, h, h, true));
      operators.push_back(
          make_.vector("pooler_tanh", "elementwise", Sharding::replicated, tanh_cost, h, h));
    }
    if (shape_.head == Head::bert) {
      append(operators, bert_head());
    }
    if (shape_.head == Head::bert || shape_.head == Head::language_model) {
      operators.push_back(vocabulary_product(shape_.head == Head::bert));
      if (shape_.loss) {
        operators.push_back(loss());
      }
      if (shape_.loss && shape_.loss_metrics > 0) {
        operators.push_back(loss_metrics());
      }
    }
    return operators;
  }

 private:
  AttentionShape attention_shape(std::uint64_t keys, bool causal, std::uint64_t window) const {
    return {tokens_,          keys,   shape_.heads, shape_.kv_heads, shape_.head_width,
            shape_.attention, causal, window};
  }

  Operator added_embedding(std::string name, std::uint64_t rows) const {
    Operator op = make_.vector(std::move(name), "embedding", Sharding::replicated,
                               added_embedding_cost, activation_, activation_);
    op.kernel = Kernel::lookup;
    op.parameters = rows * shape_.hidden;
    op.additive = true;
    return op;
  }

  // To queries, keys or values, which it keeps.
  Operator projection(std::string name, std::uint64_t rows, std::uint64_t outputs) const {
    Operator op = make_.linear(std::move(name), Sharding::column, rows, shape_.hidden, outputs,
                               shape_.biases);
    op.stored_cut += make_.bytes(op.output_elements);
    return op;
  }

  // Of each head's vectors, whose gain all heads share.
  Operator head_norm(std::string name, std::uint64_t elements) const {
    return make_.norm(std::move(name), shape_.norm, Sharding::heads, elements, shape_.head_width);
  }

  // Backward, gradients that were made one by one are read and written into one tensor.
  Operator join(std::string name, std::uint64_t elements) const {
    Operator op = make_.vector(std::move(name), "elementwise", Sharding::heads, {}, 0, 0);
    op.kernel = Kernel::sum;
    op.more_moved_backward = make_.bytes(2 * elements);
    return op;
  }

  // Backward, the gradient of the outputs of the product that is last is read and added up. Where
  // the depth is cut, they are whole.
  void sum_bias(Operators& operators) const {
    const Operator& product = operators.back();
    if (!shape_.sums_bias_gradients || !shape_.biases) {
      return;
    }
    const bool is_whole = product.sharding == Sharding::row;
    Operator op = make_.vector(product.name + "_bias", "elementwise",
                               is_whole ? Sharding::replicated : Sharding::heads, {}, 0, 0);
    op.additive = is_whole;  // forward nothing: what sums over the depth are behind it may be left
    op.more_moved_backward = make_.bytes(product.output_elements);
    operators.push_back(std::move(op));
  }

  Operator copy(std::string name, Sharding sharding, std::uint64_t elements) const {
    Operator op = make_.vector(std::move(name), "elementwise", sharding, {}, 0, 0);
    op.kernel = Kernel::sum;
    op.more_moved_forward = make_.bytes(2 * elements);
    return op;
  }

  // Next sentence on the first token; on all tokens the layer before the product.
  Operators bert_head() const {
    const std::uint64_t h = shape_.hidden;
    return {make_.linear("next_sentence", Sharding::replicated, 1, h, 2, true),
            make_.linear("transform", Sharding::replicated, tokens_, h, h, true),
            make_.activation("transform_" + to_string(Activation::gelu), Activation::gelu,
                             Sharding::replicated, activation_),
            norm("transform_" + to_string(shape_.norm))};
  }

  Operator vocabulary_product(bool bias) const {
    const std::uint64_t v = shape_.vocabulary;
    Operator op = make_.linear("lm_head", Sharding::column, tokens_, shape_.hidden, v, bias);
    if (shape_.tie_embeddings) {
      op.shared_parameters = v * shape_.hidden;
      op.parameters -= op.shared_parameters;
    }
    return op;
  }

  Operator loss() const {
    const std::uint64_t logits = tokens_ * shape_.vocabulary;
    Operator op = make_.vector("loss", "loss", Sharding::heads, loss_cost, logits, logits);
    op.output_elements = tokens_;
    const bool fused = shape_.loss_kernels == Loss::fused;
    const bool eager = shape_.loss_kernels == Loss::eager;
    const Passes passes = fused ? fused_loss_passes : eager ? eager_loss_passes : loss_passes;
    op.stored_cut = fused ? make_.bytes(logits) : Bytes(logit_bytes * logits);
    // What is kept and, in the data type, the logits are counted apart. Fused, their gradient takes
    // their place; plain, it is made where the softmax was, and copied to the data type.
    op.passing_forward = eager ? Bytes(logit_bytes * logits) : Bytes();
    op.passing_backward = eager   ? Bytes(2 * logit_bytes * logits)
                          : fused ? Bytes()
                                  : make_.bytes(logits);
    op.more_moved_forward = Bytes(logit_bytes * passes.forward * logits);
    op.more_moved_backward = Bytes(logit_bytes * passes.backward * logits);
    op.forward_all_reduce_elements = 3 * tokens_;
    return op;
  }

  // Each a copy of the logits in fp32 (the logits read, the copy written) and its logarithmic
  // softmax (read, written). Frameworks compute them once activations are freed, so that they add
  // nothing to the most that is held.
  Operator loss_metrics() const {
    const std::uint64_t logits = tokens_ * shape_.vocabulary;
    Operator op = make_.vector("loss_metrics", "loss", Sharding::heads, {}, 0, 0);
    op.more_moved_forward =
        (make_.bytes(1) + Bytes(logit_bytes) * 3) * (logits * shape_.loss_metrics);
    return op;
  }

  const TransformerShape& shape_;
  OperatorMaker make_;
  std::uint64_t tokens_;
  std::uint64_t activation_;
};

void add_encoder(const TransformerShape& shape, const std::string& prefix, std::uint64_t count,
                 std::vector<Layer>& layers) {
  const bool alone = shape.architecture == Architecture::encoder;
  const Builder make(shape, alone ? shape.sequence : shape.encoder_sequence);
  layers.push_back({prefix + "embedding", kept_whole(make.embedding(false)), make.activation()});
  for (std::uint64_t i = 0; i < count; ++i) {
    Operators operators = make.part("1", make.self_attention(false, 0));
    append(operators, make.part("2", make.mlp(i)));
    layers.push_back({prefix + "layer " + std::to_string(i),
                      repeated(make.turned(std::move(operators)), shape), make.activation()});
  }
}

void add_decoder(const TransformerShape& shape, std::vector<Layer>& layers) {
  const bool crosses = shape.architecture == Architecture::encoder_decoder;
  const std::string prefix = crosses ? "decoder " : "";
  const Builder make(shape, shape.sequence);
  const Builder encoder(shape, shape.encoder_sequence);
  // The encoder's output goes through the pipeline for all cross attention.
  const std::uint64_t boundary = make.activation() + (crosses ? encoder.activation() : 0);
  Operators first;
  if (crosses && !shape.norm_after) {
    first.push_back(encoder.norm("encoder_final_" + to_string(shape.norm)));
  }
  append(first, make.embedding(crosses));
  layers.push_back({prefix + "embedding", kept_whole(std::move(first)), boundary});
  for (std::uint64_t i = 0; i < shape.layers; ++i) {
    const LayerKind kind = shape.kind_of(i);
    Operators operators;
    if (kind.mixer != Mixer::none) {
      operators = make.part("1", make.mixing(kind.mixer));
    }
    if (crosses) {
      append(operators, make.part("_cross", make.cross_attention()));
    }
    if (kind.mlp) {
      append(operators, make.part("2", make.mlp(i)));
    }
    layers.push_back({prefix + "layer " + std::to_string(i),
                      repeated(make.turned(std::move(operators)), shape), boundary});
  }
}

}  // namespace

std::vector<ColumnBlock> up_blocks(Activation activation, std::uint64_t width) {
  const std::size_t matrices = activation == Activation::swiglu ? 2 : 1;
  return std::vector<ColumnBlock>(matrices, {width, 1});
}

Flops softmax_flops(std::uint64_t elements) {
  const OperatorMaker make(DataType::fp16, false);
  return make.softmax("softmax", Sharding::replicated, elements).forward_flops;
}

std::vector<Layer> transformer_layers(const TransformerShape& shape) {
  std::vector<Layer> layers;
  layers.reserve(shape.layers + shape.encoder_layers + 3);
  switch (shape.architecture) {
    case Architecture::encoder:
      add_encoder(shape, "", shape.layers, layers);
      break;
    case Architecture::encoder_decoder:
      add_encoder(shape, "encoder ", shape.encoder_layers, layers);
      add_decoder(shape, layers);
      break;
    case Architecture::decoder:
      add_decoder(shape, layers);
      break;
  }
  Operators head = Builder(shape, shape.sequence).head();
  if (!head.empty()) {
    layers.push_back({"head", kept_whole(std::move(head)), 0});
  }
  layers.back().boundary_elements = 0;
  return layers;
}

}  // namespace tessera::workload
