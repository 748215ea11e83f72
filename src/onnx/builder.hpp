// Puts the graph together, node by node in the order of the file.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "model_file.hpp"
#include "operands.hpp"
#include "tessera/onnx/import.hpp"

namespace tessera::onnx {

// What a name stands for: a tensor, or a sequence of tensors, which is nothing but its parts.
struct Symbol {
  TensorIndex tensor = no_tensor;
  std::shared_ptr<const std::vector<TensorIndex>> items;

  bool absent() const { return tensor == no_tensor && !items; }
};

// Names of a graph, and of the graphs around it.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}
  const Symbol* find(const std::string& name) const;
  // False when the name was taken.
  bool define(const std::string& name, Symbol symbol);

 private:
  const Scope* outer_;
  std::map<std::string, Symbol> symbols_;
};

class Builder {
 public:
  Builder(const ModelFile& file, const ImportOptions& options, Import& result);

  // Initializers and nodes; `prefix` stands before the names of nodes.
  void add_graph(const FileGraph& graph, Scope& scope, const std::string& prefix);
  TensorIndex add_tensor(Tensor tensor);
  // Options by node name that no node asked for.
  std::vector<std::string> unused_choices() const;
  void finish_notices();

 private:
  // The operator sets that hold, and what a call gave for the attributes of a function.
  struct Frame {
    const std::map<std::string, std::int64_t>* opsets = nullptr;
    int depth = 0;
  };
  struct Step {
    const FileNode& node;
    Scope& scope;
    std::string name;  // with its prefix
    std::string prefix;
    std::vector<Symbol> inputs;
  };

  void add_node(const FileNode& node, Scope& scope, const std::string& prefix);
  bool add_special(Step& step);
  void add_operator(Step& step);
  void infer(Node& node, const Step& step);
  void take_declared(const Node& node, const Step& step);
  void compare_declared(const Node& node, const Step& step);
  void evaluate_outputs(const Node& node, const Operands& operands);
  void split_fused(Node& node);
  // An operator that the file does not have: makes one tensor.
  TensorIndex synthesize(const Step& step, const std::string& op, Attributes attributes,
                         const std::vector<TensorIndex>& inputs);
  TensorIndex constant(const std::string& name, Values values, const Shape& shape,
                       ElementType type);

  void add_constant(Step& step);
  void add_if(Step& step);
  void add_loop(Step& step);
  void add_scan(Step& step);
  void add_call(Step& step, const FileFunction& function);
  const FileGraph& body_of(const Step& step, const char* name) const;
  std::int64_t iterations_of(const Step& step, const char* option) const;
  Symbol output_of(const Step& step, const Scope& scope, const std::string& name) const;
  TensorIndex stacked(const Step& step, const std::vector<TensorIndex>& parts, std::int64_t axis);

  bool add_sequence(Step& step);
  void map_sequence(Step& step);
  void split_to_sequence(Step& step);
  void concat_from_sequence(Step& step);
  std::size_t position_in(const Step& step, std::size_t input, std::size_t size) const;

  void define(const Step& step, std::size_t output, Symbol symbol);
  TensorIndex tensor_of(const Step& step, std::size_t input) const;
  const Values* values_of(const Step& step, std::size_t input) const;
  const std::vector<TensorIndex>& items_of(const Step& step, std::size_t input) const;
  std::int64_t version_of(const std::string& domain) const;
  void spend(const Step& step);
  void note(const std::string& what) { ++notes_[what]; }
  [[noreturn]] void fail(const FileNode& node, const std::string& problem) const;

  const ModelFile& file_;
  const ImportOptions& options_;
  Graph& graph_;
  Import& result_;
  Frame frame_;
  std::map<std::string, const Declared*> declared_;
  mutable std::set<std::string> used_choices_;
  std::map<std::string, std::uint64_t> notes_;
  std::uint64_t other_shapes_ = 0;  // of tensors of which the file states another one
  std::string first_other_shape_;
  std::uint64_t spent_ = 0;
  std::uint64_t value_elements_ = 0;
};

}  // namespace tessera::onnx
