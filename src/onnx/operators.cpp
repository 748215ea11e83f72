#include "operators.hpp"

#include <map>
#include <string_view>

namespace tessera::onnx {
namespace {

const std::map<std::string_view, const OperatorRule*>& table() {
  static const auto all = [] {
    std::map<std::string_view, const OperatorRule*> rules;
    for (const auto family : {element_wise_rules(), product_rules(), window_rules(), row_rules(),
                              layout_rules(), resize_rules(), selection_rules(), generator_rules(),
                              contributed_rules(), attention_rules(), linear_attention_rules()}) {
      for (const OperatorRule& rule : family) {
        rules[rule.kind] = &rule;
      }
    }
    return rules;
  }();
  return all;
}

}  // namespace

const OperatorRule* find_rule(const std::string& domain, const std::string& op) {
  const auto found = table().find(domain.empty() ? op : domain + "." + op);
  return found == table().end() ? nullptr : found->second;
}

void shape_as_input(Operands& node) {
  for (std::size_t at = 0; at < node.outputs(); ++at) {
    node.set(at, node.type(0), node.shape(0));
  }
}

void shape_broadcast(Operands& node) {
  Shape shape = node.shape(0);
  for (std::size_t at = 1; at < node.inputs(); ++at) {
    if (node.has(at)) {
      shape = node.broadcast(shape, node.shape(at));
    }
  }
  node.set(0, node.type(0), shape);
}

Work element_wise(const Operands& node, std::uint64_t flops) {
  return ElementWise{false, elements_of(node.output_shape(0)), flops};
}

Work activation(const Operands& node, std::uint64_t flops) {
  return ElementWise{true, elements_of(node.output_shape(0)), flops};
}

Work movement(const Operands& node, std::uint64_t) {
  return Movement{elements_of(node.output_shape(0))};
}

Work view(const Operands&, std::uint64_t) {
  return View{};
}

Work traffic(const Operands&, std::uint64_t flops) {
  return Other{flops};
}

Work norm_of_last(const Operands& node, std::uint64_t flops) {
  const Shape& shape = node.shape(0);
  const std::uint64_t columns = shape.empty() ? 1 : static_cast<std::uint64_t>(shape.back());
  const std::uint64_t elements = elements_of(shape);
  return RowWork{RowWork::Form::normalization, columns == 0 ? 0 : elements / columns, columns,
                 flops};
}

}  // namespace tessera::onnx
