// Parts of a graph that are looked for.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "editor.hpp"

namespace tessera::onnx {

// Nodes of a formula. All but the last of them feed nobody else.
class Pattern {
 public:
  explicit Pattern(Editor& editor) : editor_(editor) {}

  void add(NodeIndex at) { nodes_.insert(at); }
  // Nobody outside reads what a node but `root` makes.
  bool closed(NodeIndex root) const;
  // `node` in place of `root`; the others go.
  void become(NodeIndex root, Node node);

 private:
  Editor& editor_;
  std::set<NodeIndex> nodes_;
};

// A tensor as a product: Mul and Div by a constant, taken apart as far as nobody else reads them.
struct Factors {
  double scale = 1;
  std::vector<TensorIndex> parts;
  std::vector<NodeIndex> nodes;
};
Factors factors_of(const Editor& editor, TensorIndex tensor);

// Within a thousandth: constants of models are rounded.
bool is_near(double value, double expected);

// The operand beside a constant of one element near `value`, of a binary node of either order.
std::optional<TensorIndex> beside_scalar(const Editor& editor, const Node& node, double value);

// A node of the kind that takes the place of a formula.
Node replacement(const Node& root, const std::string& domain, const std::string& op,
                 std::vector<TensorIndex> inputs);

}  // namespace tessera::onnx
