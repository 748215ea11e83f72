#include "operands.hpp"

#include <algorithm>
#include <limits>

#include "model_file.hpp"
#include "tessera/core/error.hpp"

namespace tessera::onnx {

Operands::Operands(const Graph& graph, const Node& node) : node_(node), path_(graph.path) {
  for (const TensorIndex at : node.inputs) {
    inputs_.push_back(at == no_tensor ? nullptr : &graph.tensors[at]);
  }
  for (const TensorIndex at : node.outputs) {
    Tensor& output = outputs_.emplace_back();
    wanted_.push_back(at != no_tensor);
    if (at != no_tensor) {
      output.type = graph.tensors[at].type;
      output.shape = graph.tensors[at].shape;
    }
  }
}

void Operands::fail(const std::string& problem) const {
  fail_at(path_, {"node '" + node_.name + "' (" + node_.op + ")", node_.offset, true}, problem);
}

const Tensor& Operands::needed(std::size_t at) const {
  if (!has(at)) {
    fail("input " + std::to_string(at) + " is left out, and the operator needs it");
  }
  return *inputs_[at];
}

const Shape& Operands::shape(std::size_t at) const {
  const Tensor& tensor = needed(at);
  if (!tensor.shape) {
    throw NotKnown{"the shape of its input '" + tensor.name + "' is not known"};
  }
  return *tensor.shape;
}

const Values* Operands::values(std::size_t at) const {
  const Tensor* const tensor = input(at);
  return tensor != nullptr && tensor->values ? &*tensor->values : nullptr;
}

const std::vector<std::int64_t>& Operands::numbers(std::size_t at) const {
  const Tensor& tensor = needed(at);
  if (!tensor.values) {
    throw NotKnown{"the values of its input '" + tensor.name + "' are not known"};
  }
  if (tensor.values->real) {
    fail("input '" + tensor.name + "' should hold whole numbers");
  }
  return tensor.values->integers;
}

std::int64_t Operands::number(std::size_t at) const {
  const auto& list = numbers(at);
  if (list.size() != 1) {
    fail("input '" + needed(at).name + "' should hold one number");
  }
  return list.front();
}

double Operands::real(std::size_t at) const {
  const Tensor& tensor = needed(at);
  if (!tensor.values) {
    throw NotKnown{"the value of its input '" + tensor.name + "' is not known"};
  }
  if (tensor.values->size() != 1) {
    fail("input '" + tensor.name + "' should hold one number");
  }
  return tensor.values->as_real(0);
}

std::int64_t Operands::integer(const char* name, std::int64_t otherwise) const {
  return has_attribute(name) ? integer(name) : otherwise;
}

std::int64_t Operands::integer(const char* name) const {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) {
    fail(std::string("has no attribute '") + name + "'");
  }
  const auto* const value = std::get_if<std::int64_t>(&found->second);
  if (value == nullptr) {
    fail(std::string("attribute '") + name + "' should be a whole number");
  }
  return *value;
}

double Operands::number_of(const char* name, double otherwise) const {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) {
    return otherwise;
  }
  const auto* const value = std::get_if<double>(&found->second);
  if (value == nullptr) {
    fail(std::string("attribute '") + name + "' should be a number");
  }
  return *value;
}

std::string Operands::text(const char* name, const std::string& otherwise) const {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) {
    return otherwise;
  }
  const auto* const value = std::get_if<std::string>(&found->second);
  if (value == nullptr) {
    fail(std::string("attribute '") + name + "' should be a text");
  }
  return *value;
}

std::vector<std::int64_t> Operands::integers(const char* name) const {
  const auto found = node_.attributes.find(name);
  if (found == node_.attributes.end()) {
    return {};
  }
  const auto* const value = std::get_if<std::vector<std::int64_t>>(&found->second);
  if (value == nullptr) {
    fail(std::string("attribute '") + name + "' should be a list of whole numbers");
  }
  return *value;
}

Shape Operands::window(const char* name, std::size_t count, std::int64_t otherwise,
                       std::int64_t least) const {
  Shape list = integers(name);
  if (list.empty()) {
    return Shape(count, otherwise);
  }
  const auto in_range = [least](std::int64_t value) {
    return value >= least && value <= std::numeric_limits<std::int32_t>::max();
  };
  if (list.size() != count || !std::all_of(list.begin(), list.end(), in_range)) {
    fail(std::string("attribute '") + name + "' should be " + std::to_string(count) +
         " numbers from " + std::to_string(least) + " on");
  }
  return list;
}

std::size_t Operands::axis(std::int64_t axis, std::size_t rank) const {
  const auto sides = static_cast<std::int64_t>(rank);
  if (axis < -sides || axis >= sides) {
    fail("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) + " sides");
  }
  return static_cast<std::size_t>(axis < 0 ? axis + sides : axis);
}

std::vector<bool> Operands::axes(const std::vector<std::int64_t>& list, std::size_t rank) const {
  std::vector<bool> flags(rank);
  for (const std::int64_t each : list) {
    flags[axis(each, rank)] = true;
  }
  return flags;
}

Shape Operands::broadcast(const Shape& a, const Shape& b) const {
  Shape shape(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t left = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t right = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (left != right && left != 1 && right != 1) {
      fail("the shapes " + to_string(a) + " and " + to_string(b) + " do not go together");
    }
    shape[shape.size() - 1 - i] = left == 1 ? right : left;
  }
  return shape;
}

void Operands::set(std::size_t at, ElementType type, Shape shape) {
  if (!wants(at)) {
    return;
  }
  if (shape.size() > most_sides) {
    fail("an output of " + std::to_string(shape.size()) + " sides");
  }
  std::uint64_t elements = 1;
  for (const std::int64_t side : shape) {
    if (side < 0 || static_cast<std::uint64_t>(side) > most_elements) {
      fail("its output would have the shape " + to_string(shape));
    }
    elements *= static_cast<std::uint64_t>(side);
    if (elements > most_elements) {
      fail("its output would have the shape " + to_string(shape) + ", more than 2^48 elements");
    }
  }
  outputs_[at].type = type;
  outputs_[at].shape = std::move(shape);
}

const Tensor& Operands::output(std::size_t at) const {
  if (!wants(at)) {
    fail("output " + std::to_string(at) + " is left out, and the operator needs it");
  }
  return outputs_[at];
}

const Shape& Operands::output_shape(std::size_t at) const {
  const Tensor& tensor = output(at);
  if (!tensor.shape) {
    throw NotKnown{"the shape of its output is not known"};
  }
  return *tensor.shape;
}

std::uint64_t Operands::times(std::initializer_list<std::uint64_t> factors) const {
  std::uint64_t product = 1;
  for (const std::uint64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product) || product > (std::uint64_t{1} << 62U)) {
      fail("its work does not fit 62 bits");
    }
  }
  return product;
}

}  // namespace tessera::onnx
