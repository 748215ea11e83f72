// A node as the rules of operators see it: tensors and attributes in, shapes out.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tessera/onnx/graph.hpp"

namespace tessera::onnx {

// Something about a node cannot be found out: a shape that needs values which are not known.
struct NotKnown {
  std::string why;
};

class Operands {
 public:
  // With the outputs as the graph has them.
  Operands(const Graph& graph, const Node& node);

  const Node& node() const { return node_; }
  std::int64_t version() const { return node_.version; }

  std::size_t inputs() const { return inputs_.size(); }
  // Null when it is left out.
  const Tensor* input(std::size_t at) const { return at < inputs_.size() ? inputs_[at] : nullptr; }
  bool has(std::size_t at) const { return input(at) != nullptr; }
  // Fails when it is left out.
  const Tensor& needed(std::size_t at) const;
  // Of an input that is needed; throws NotKnown.
  const Shape& shape(std::size_t at) const;
  std::size_t rank(std::size_t at) const { return shape(at).size(); }
  ElementType type(std::size_t at) const { return needed(at).type; }
  // Null when they are not known.
  const Values* values(std::size_t at) const;
  // Whole numbers of a needed input; throws NotKnown.
  const std::vector<std::int64_t>& numbers(std::size_t at) const;
  // Of a needed input with one element.
  std::int64_t number(std::size_t at) const;
  double real(std::size_t at) const;

  // Attributes. A value of another type fails.
  bool has_attribute(const char* name) const { return node_.attributes.contains(name); }
  std::int64_t integer(const char* name, std::int64_t otherwise) const;
  std::int64_t integer(const char* name) const;  // must be there
  double number_of(const char* name, double otherwise) const;
  std::string text(const char* name, const std::string& otherwise) const;
  std::vector<std::int64_t> integers(const char* name) const;  // empty when not there
  // `count` numbers between `least` and 2^31 - 1; all `otherwise` when not there.
  Shape window(const char* name, std::size_t count, std::int64_t otherwise,
               std::int64_t least) const;
  // A switch: the attribute is there and not 0.
  bool flag(const char* name, bool otherwise = false) const {
    return integer(name, otherwise ? 1 : 0) != 0;
  }

  // 0 … rank - 1, counted from the end when negative; fails outside.
  std::size_t axis(std::int64_t axis, std::size_t rank) const;
  // Each once, as flags of the axes.
  std::vector<bool> axes(const std::vector<std::int64_t>& list, std::size_t rank) const;
  // Multidirectional broadcasting of two shapes; fails when they do not fit.
  Shape broadcast(const Shape& a, const Shape& b) const;

  std::size_t outputs() const { return outputs_.size(); }
  bool wants(std::size_t at) const { return at < wanted_.size() && wanted_[at]; }
  // Ignored for an output that the node leaves out.
  void set(std::size_t at, ElementType type, Shape shape);
  const Tensor& output(std::size_t at) const;
  // Of an output that must be there.
  const Shape& output_shape(std::size_t at) const;
  std::vector<Tensor> take_outputs() { return std::move(outputs_); }
  // "data-dependent": noted beside the node.
  void note(const std::string& text) { note_ = text; }
  const std::string& noted() const { return note_; }

  // Fails beyond 2^62.
  std::uint64_t times(std::initializer_list<std::uint64_t> factors) const;

  [[noreturn]] void fail(const std::string& problem) const;

 private:
  const Node& node_;
  const std::string& path_;
  std::vector<const Tensor*> inputs_;
  std::vector<Tensor> outputs_;
  std::vector<bool> wanted_;
  std::string note_;
};

// A side of a shape, which is not negative.
inline std::uint64_t count(std::int64_t side) {
  return static_cast<std::uint64_t>(side);
}

}  // namespace tessera::onnx
