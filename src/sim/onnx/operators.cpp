#include "onnx/operators.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "onnx/quantized.hpp"
#include "tessera/core/quotient.hpp"

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::Tensor;
using onnx::TensorIndex;
using workload::MatrixProduct;
using workload::Operator;
using workload::Sharding;

Operator make_vector(std::string name, std::string kind, Flops flops) {
  Operator op;
  op.name = std::move(name);
  op.kind = std::move(kind);
  op.forward_flops = flops;
  return op;
}

Operator make_product(std::string name, std::string kind, const MatrixProduct& product) {
  Operator op;
  op.name = std::move(name);
  op.kind = std::move(kind);
  op.forward_flops = product.flops();
  if (op.forward_flops > Flops()) {
    op.product = product;
  }
  return op;
}

// The operators of a node without operands.
struct Parts {
  std::vector<Operator> operators;
  std::size_t reads = 0;   // number of the one that has the node's inputs
  std::size_t writes = 0;  // and its outputs
};

// Of each kind of work; called by std::visit.
class Maker {
 public:
  Maker(const OnnxSurvey& survey, NodeNumber number, const NodeCut& cut)
      : survey_(survey),
        node_(survey.node(number)),
        cut_(cut),
        cost_(onnx::cost_of(survey.graph(), node_)) {
    vector_ = cost_.vector;
    for (const onnx::Epilogue& step : node_.epilogue) {
      vector_ = Flops(vector_.count() - step.flops);
    }
  }

  Parts operator()(const onnx::Product& work) const {
    MatrixProduct product{work.rows, work.columns, work.depth * (work.operations / 2), work.count};
    if (work.one_right_side) {
      product.rows *= std::exchange(product.count, 1);
    }
    return product_of("", reads_weights(survey_, node_) ? "linear" : "product", product);
  }

  Parts operator()(const onnx::Convolution& work) const {
    const std::uint64_t window = onnx::elements_of(work.kernel);
    const std::uint64_t inputs = work.input_channels / work.groups;
    const std::uint64_t outputs = work.output_channels / work.groups;
    const std::uint64_t of = onnx::elements_of(work.transposed ? work.input : work.output);
    const MatrixProduct product =
        work.transposed ? MatrixProduct{work.batch * of, window * outputs, inputs, work.groups}
                        : MatrixProduct{work.batch * of, outputs, window * inputs, work.groups};
    return product_of("", "convolution", product);
  }

  Parts operator()(const onnx::Attention& work) const {
    const std::uint64_t count = work.batch * work.heads;
    Parts parts;
    if (work.projection_flops > 0) {
      const auto& weights = *survey_.tensor(node_.inputs[1]).shape;
      const auto depth = static_cast<std::uint64_t>(weights[0]);
      const auto columns = static_cast<std::uint64_t>(weights[1]);
      parts.operators.push_back(
          make_product(node_.name + "/projection", "linear",
                       {work.projection_flops / 2 / (depth * columns), columns, depth, 1}));
      parts.operators.back().sharding = cut_.sharding;
      parts.operators.back().own_type = quantized_type(survey_.graph(), node_);
    }
    // The shape of half a key more where a mask leaves an odd number; FLOPs are exact.
    const auto add = [&](const char* part, MatrixProduct product, std::uint64_t width) {
      Operator& op =
          parts.operators.emplace_back(make_product(node_.name + part, "attention", product));
      op.forward_flops = Flops(width * work.twice_pairs());
      op.sharding = inner();
      op.kv_heads = std::min(work.kv_heads, heads_of(work.kv_heads));
    };
    if (work.key_width == work.value_width) {
      add("/attention", {work.queries, work.key_width, work.twice_keys(), count},
          2 * work.key_width);
    } else {
      const std::uint64_t keys = quotient_up(work.twice_keys(), 2);
      add("/scores", {work.queries, keys, work.key_width, count}, work.key_width);
      add("/values", {work.queries, work.value_width, keys, count}, work.value_width);
    }
    parts.writes = parts.operators.size() - 1;
    parts.operators.push_back(make_vector(node_.name + "/softmax", "softmax", vector_));
    parts.operators.back().sharding = inner();
    parts.operators.back().fused_elements = quotient_up(work.twice_pairs(), 2);
    return parts;
  }

  Parts operator()(const onnx::Recurrent& work) const {
    const std::uint64_t gates = work.gates * work.hidden_width;
    Parts parts;
    parts.operators = {
        make_product(node_.name + "/inputs", "recurrent",
                     {work.steps * work.batch, gates, work.input_width, work.directions}),
        make_product(node_.name + "/state", "recurrent",
                     {work.batch, gates, work.hidden_width, work.steps * work.directions}),
        make_vector(node_.name + "/gates", "elementwise", vector_)};
    parts.writes = 2;
    return parts;
  }

  Parts operator()(const onnx::RowWork& work) const {
    return vector(work.form == onnx::RowWork::Form::softmax     ? "softmax"
                  : work.form == onnx::RowWork::Form::reduction ? "reduction"
                                                                : "norm");
  }
  Parts operator()(const onnx::Pooling&) const { return vector("pool"); }
  Parts operator()(const onnx::ElementWise&) const { return vector("elementwise"); }
  Parts operator()(const onnx::Lookup&) const { return vector("lookup"); }
  Parts operator()(const onnx::Movement&) const { return vector("movement"); }
  Parts operator()(const onnx::Append&) const { return vector("movement"); }
  Parts operator()(const onnx::View&) const { return vector("view"); }
  Parts operator()(const onnx::Other&) const { return vector("other"); }

 private:
  // Sharding of what follows a product inside the node.
  Sharding inner() const {
    return cut_.sharding == Sharding::column ? Sharding::heads : cut_.sharding;
  }
  std::uint64_t heads_of(std::uint64_t otherwise) const {
    return cut_.set > 0 && cut_.heads > 0 ? cut_.heads : otherwise;
  }

  Parts product_of(const char* part, const char* kind, const MatrixProduct& product) const {
    Parts parts;
    if (product.rows * product.columns * product.depth * product.count == 0) {
      return vector(kind);
    }
    Operator op = make_product(node_.name + part, kind, product);
    op.sharding = cut_.sharding;
    op.own_type = quantized_type(survey_.graph(), node_);
    if (op.sharding == Sharding::heads && heads_of(0) < product.count) {
      op.kv_heads = heads_of(0);
    }
    parts.operators.push_back(std::move(op));
    return parts;
  }

  Parts vector(const char* kind) const {
    Parts parts;
    parts.operators.push_back(make_vector(node_.name, kind, vector_));
    parts.operators.back().sharding = cut_.sharding;
    return parts;
  }

  const OnnxSurvey& survey_;
  const Node& node_;
  const NodeCut& cut_;
  onnx::Cost cost_;
  Flops vector_;
};

bool does_anything(const Operator& op) {
  return op.forward_flops > Flops() || op.input_elements > 0 || op.output_elements > 0 ||
         op.parameters > 0;
}

// Moves numbers that follow from shapes.
bool is_known_beforehand(const OnnxSurvey& survey, NodeNumber number, const Operator& op) {
  const std::vector<TensorIndex>& made = survey.node(number).outputs;
  return op.forward_flops == Flops() && op.parameters == 0 &&
         std::all_of(made.begin(), made.end(), [&](TensorIndex at) {
           return at == onnx::no_tensor || survey.tensor(at).values.has_value();
         });
}

}  // namespace

OnnxOperators::OnnxOperators(const OnnxSurvey& survey, const std::vector<NodeCut>& cuts,
                             DataType data_type)
    : survey_(survey), cuts_(cuts), data_type_(data_type) {
  find_owners();
}

// Products first, as what turns a weight for them reads it only.
void OnnxOperators::find_owners() {
  const auto offer = [&](NodeNumber number, bool constant_too) {
    for (const TensorIndex at : survey_.node(number).inputs) {
      const TensorIndex parameter = at == onnx::no_tensor || !survey_.is_constant(at)
                                        ? onnx::no_tensor
                                        : survey_.parameter_of(at);
      const bool makes_constant = std::any_of(
          survey_.node(number).outputs.begin(), survey_.node(number).outputs.end(),
          [&](TensorIndex made) { return made != onnx::no_tensor && survey_.is_constant(made); });
      if (parameter != onnx::no_tensor && (constant_too || !makes_constant)) {
        owners_.emplace(parameter, number);
      }
    }
  };
  for (const bool constant_too : {false, true}) {
    for (NodeNumber number = 0; number < survey_.nodes(); ++number) {
      if (constant_too || !survey_.is_view(number)) {
        offer(number, constant_too);
      }
    }
  }
}

std::uint64_t OnnxOperators::elements(std::uint64_t count, onnx::ElementType type) const {
  return onnx::is_real(type) && !is_narrow(type)
             ? count
             : quotient_up((count * onnx::bits_of(type) + 7) / 8, element_size(data_type_).count());
}

std::uint64_t OnnxOperators::elements(const Tensor& tensor) const {
  return elements(tensor.elements(), tensor.type);
}

std::uint64_t OnnxOperators::written_by(NodeNumber number) const {
  std::uint64_t sum = 0;
  if (const auto* const append = std::get_if<onnx::Append>(&survey_.work(number))) {
    return append->elements;
  }
  for (const TensorIndex at : survey_.node(number).outputs) {
    sum += at == onnx::no_tensor ? 0 : elements(survey_.tensor(at));
  }
  return survey_.is_view(number) ? 0 : sum;
}

// As onnx::cost_of counts bytes.
std::uint64_t OnnxOperators::read_of(NodeNumber number, std::size_t input) const {
  const Node& node = survey_.node(number);
  const Tensor& tensor = survey_.tensor(node.inputs[input]);
  const onnx::Work& work = survey_.work(number);
  if (survey_.is_view(number)) {
    return 0;
  }
  if (const auto* const append = std::get_if<onnx::Append>(&work)) {
    return input == 1 ? append->elements : 0;
  }
  if (const auto* const lookup = std::get_if<onnx::Lookup>(&work); lookup && input == 0) {
    return elements(lookup->rows * lookup->row_elements, tensor.type);
  }
  const std::uint64_t read =
      elements(onnx::elements_read(survey_.graph(), node, input), tensor.type);
  return input == 0 && std::holds_alternative<onnx::Movement>(work)
             ? std::min(read, written_by(number))
             : read;
}

Bytes OnnxOperators::stored_bytes(const Tensor& parameter) const {
  return onnx::is_real(parameter.type) && !is_narrow(parameter.type)
             ? element_size(data_type_) * parameter.elements()
             : parameter.bytes();
}

bool OnnxOperators::has_narrow_weights(NodeNumber number) const {
  const std::vector<TensorIndex>& inputs = survey_.node(number).inputs;
  return std::any_of(inputs.begin(), inputs.end(), [&](TensorIndex at) {
    const TensorIndex parameter = at == onnx::no_tensor || !survey_.is_constant(at)
                                      ? onnx::no_tensor
                                      : survey_.parameter_of(at);
    return parameter != onnx::no_tensor && is_narrow(survey_.tensor(parameter).type);
  });
}

// Partial sums of a quantised output are wider.
std::uint64_t OnnxOperators::summed_by(NodeNumber number) const {
  const TensorIndex at = survey_.node(number).outputs[0];
  const bool is_narrow_product =
      at != onnx::no_tensor && survey_.is_matrix_work(number) && is_narrow(survey_.tensor(at).type);
  return is_narrow_product ? elements(survey_.tensor(at).elements(), onnx::ElementType::int32)
                           : written_by(number);
}

void OnnxOperators::add_parameter(NodeNumber number, std::size_t input, Operator& op,
                                  workload::WeightBytes& bytes) const {
  const TensorIndex at = survey_.node(number).inputs[input];
  const TensorIndex parameter = survey_.parameter_of(at);
  const bool counts =
      parameter != onnx::no_tensor && onnx::counts_as_parameter(survey_.tensor(parameter).type);
  const std::uint64_t all = counts ? survey_.tensor(parameter).elements() : 0;
  const bool is_table = counts && std::holds_alternative<onnx::Attention>(survey_.work(number)) &&
                        read_of(number, input) < elements(survey_.tensor(parameter));
  if (counts && owners_.at(parameter) == number) {
    op.parameters += all;
    const bool is_cut =
        !is_table && (op.sharding == Sharding::replicated || cuts_[number].is_cut(input));
    op.replicated_parameters += is_cut ? 0 : all;
    op.table_parameters += is_table ? all : 0;
    op.looked_up_elements += is_table ? read_of(number, input) : 0;
    bytes.parameters += stored_bytes(survey_.tensor(parameter));
    bytes.replicated += is_cut ? Bytes() : stored_bytes(survey_.tensor(parameter));
  } else if (counts && !is_table && survey_.is_matrix_work(number) &&
             !is_epilogue_operand(survey_.node(number), at)) {
    op.shared_parameters += all;
    bytes.shared += stored_bytes(survey_.tensor(parameter));
  } else {
    op.input_elements += read_of(number, input);
  }
}

// Each distinct input once, outputs once; what fused steps read besides is theirs.
void OnnxOperators::add_operands(NodeNumber number, Operator& op) const {
  const Node& node = survey_.node(number);
  std::set<TensorIndex> seen;
  std::set<TensorIndex> parameters;
  workload::WeightBytes bytes;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorIndex at = node.inputs[i];
    if (at == onnx::no_tensor || !seen.insert(at).second) {
      continue;
    }
    if (survey_.is_constant(at)) {
      const TensorIndex parameter = survey_.parameter_of(at);
      if (parameter == onnx::no_tensor || parameters.insert(parameter).second) {
        add_parameter(number, i, op, bytes);
      }
    } else if (!is_epilogue_operand(node, at)) {
      op.input_elements += read_of(number, i);
    }
  }
  if (has_narrow_weights(number) && bytes != workload::WeightBytes()) {
    op.weight_bytes = bytes;
  }
}

Operator OnnxOperators::epilogue_of(NodeNumber number) const {
  const Node& node = survey_.node(number);
  Flops flops;
  std::set<TensorIndex> read;
  std::string name;
  for (const onnx::Epilogue& step : node.epilogue) {
    flops += Flops(step.flops);
    name += "+" + step.op;
    read.insert(step.operands.begin(), step.operands.end());
  }
  Operator op = make_vector(node.name + name, "elementwise", flops);
  const Sharding sharding = cuts_[number].sharding;
  op.sharding = sharding == Sharding::column ? Sharding::heads
                : sharding == Sharding::row  ? Sharding::replicated
                                             : sharding;
  op.fused_elements = written_by(number);
  for (const TensorIndex at : read) {
    op.input_elements +=
        at == onnx::no_tensor || survey_.is_constant(at) ? 0 : elements(survey_.tensor(at));
  }
  return op;
}

std::vector<Operator> OnnxOperators::of(NodeNumber number) const {
  const Node& node = survey_.node(number);
  Parts parts = std::visit(Maker(survey_, number, cuts_[number]), survey_.work(number));
  std::vector<Operator>& operators = parts.operators;
  add_operands(number, operators[parts.reads]);
  operators[parts.writes].output_elements = written_by(number);
  if (cuts_[number].sharding == Sharding::row) {
    operators[parts.reads].forward_all_reduce_elements = summed_by(number);
  }
  // Of tables and weights that are moved no more is read than written: plan/sharder.cpp.
  const bool moves = std::holds_alternative<onnx::Lookup>(survey_.work(number)) ||
                     std::holds_alternative<onnx::Movement>(survey_.work(number));
  if (moves && operators[0].parameters > 0) {
    operators[0].kind = "embedding";
    if (std::holds_alternative<onnx::Lookup>(survey_.work(number))) {
      operators[0].kernel = workload::Kernel::lookup;
    }
  }
  const bool sums = node.op == "Add" || node.op == "Sum";
  operators[0].additive = sums && operators[0].sharding == Sharding::replicated &&
                          node.epilogue.empty() && operators[0].parameters == 0;
  if (!node.epilogue.empty()) {
    operators.push_back(epilogue_of(number));
  }
  std::erase_if(operators, [&](const Operator& op) {
    return !does_anything(op) || is_known_beforehand(survey_, number, op);
  });
  return std::move(parts.operators);
}

}  // namespace tessera::sim
