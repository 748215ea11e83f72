// Constants that go into the weights of a convolution or beside a product.
#include "passes/passes.hpp"

namespace tessera::onnx {
namespace {

bool is_convolution(const Editor& editor, NodeIndex at) {
  return editor.is(at, "Conv") || editor.is(at, "ConvTranspose");
}

bool weights_constant(const Editor& editor, const Node& node) {
  return node.inputs.size() >= 2 && editor.is_constant(node.inputs[1]) &&
         (node.inputs.size() < 3 || node.inputs[2] == no_tensor ||
          editor.is_constant(node.inputs[2]));
}

// The convolution with a bias, in place of it and of what follows it at `last`.
void absorb(Editor& editor, NodeIndex convolution, NodeIndex last) {
  Node node = editor.node(convolution);
  const Node follower = editor.node(last);
  if (node.inputs.size() < 3 || node.inputs[2] == no_tensor) {
    const Tensor& output = editor.tensor(follower.outputs[0]);
    const std::int64_t channels = output.shape && output.shape->size() > 1 ? (*output.shape)[1] : 1;
    node.inputs.resize(3, no_tensor);
    node.inputs[2] = editor.add_constant(node.name + "/bias", output.type, {channels});
  }
  node.outputs = {follower.outputs[0]};
  editor.remove(convolution);
  editor.put(last, std::move(node));
}

// One number for all, or one for each channel of [batch, channels, sides …].
bool per_channel(const Editor& editor, TensorIndex constant, TensorIndex output) {
  const auto& shape = editor.tensor(constant).shape;
  const auto& image = editor.tensor(output).shape;
  if (!shape || !image || !editor.is_constant(constant) || image->size() < 3 ||
      shape->size() > image->size()) {
    return false;
  }
  const std::size_t missing = image->size() - shape->size();
  for (std::size_t i = 0; i < shape->size(); ++i) {
    const bool channel = i + missing == 1;
    if ((*shape)[i] != 1 && !(channel && (*shape)[i] == (*image)[1])) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::uint64_t fold_batch_norm(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!is_convolution(editor, at) || !weights_constant(editor, editor.node(at))) {
      continue;
    }
    const auto next = editor.only_reader(editor.node(at).outputs[0]);
    if (!next || !editor.is(*next, "BatchNormalization") || editor.node(*next).inputs.size() != 5 ||
        editor.node(*next).outputs[0] == no_tensor ||
        editor.node(*next).inputs[0] != editor.node(at).outputs[0]) {
      continue;
    }
    const Node& norm = editor.node(*next);
    bool inference = true;
    for (std::size_t i = 1; i < norm.outputs.size(); ++i) {
      inference = inference &&
                  (norm.outputs[i] == no_tensor ||
                   (editor.readers(norm.outputs[i]).empty() && !editor.is_output(norm.outputs[i])));
    }
    for (std::size_t i = 1; i < 5; ++i) {
      inference = inference && editor.is_constant(norm.inputs[i]);
    }
    if (inference) {
      absorb(editor, at, *next);
      ++changes;
    }
  }
  return changes;
}

std::uint64_t fold_channel_constants(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!is_convolution(editor, at) || !weights_constant(editor, editor.node(at))) {
      continue;
    }
    const TensorIndex output = editor.node(at).outputs[0];
    const auto next = editor.only_reader(output);
    if (!next || !(editor.is(*next, "Mul") || editor.is(*next, "Add"))) {
      continue;
    }
    const auto constant = other_input(editor.node(*next), output);
    if (constant && *constant != no_tensor && per_channel(editor, *constant, output) &&
        editor.same_shape(output, editor.node(*next).outputs[0])) {
      absorb(editor, at, *next);
      ++changes;
    }
  }
  return changes;
}

// A constant vector along the columns; adding it is part of the product and costs nothing.
std::uint64_t add_bias_to_products(Editor& editor) {
  std::uint64_t changes = 0;
  for (NodeIndex at = 0; at < editor.size(); ++at) {
    if (!editor.is(at, "MatMul")) {
      continue;
    }
    const TensorIndex output = editor.node(at).outputs[0];
    const auto next = editor.only_reader(output);
    const auto bias =
        next && editor.is(*next, "Add") ? other_input(editor.node(*next), output) : std::nullopt;
    if (!bias || *bias == no_tensor || !editor.is_constant(*bias) || !editor.tensor(output).shape ||
        editor.tensor(output).shape->empty() || !editor.tensor(*bias).shape ||
        editor.tensor(*bias).shape != Shape{editor.tensor(output).shape->back()}) {
      continue;
    }
    Node node = editor.node(at);
    node.inputs.push_back(*bias);
    node.epilogue.push_back({"Bias", 0, {*bias}});
    node.outputs = {editor.node(*next).outputs[0]};
    editor.remove(at);
    editor.put(*next, std::move(node));
    ++changes;
  }
  return changes;
}

}  // namespace tessera::onnx
