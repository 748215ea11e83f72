#include "tessera/sim/onnx/layers.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "onnx/cut/tensor_cut.hpp"
#include "onnx/layer_ends.hpp"
#include "onnx/operators.hpp"
#include "onnx/quantized.hpp"
#include "onnx/survey.hpp"
#include "tessera/core/error.hpp"

namespace tessera::sim {
namespace {

using onnx::Graph;
using onnx::Node;
using onnx::TensorIndex;
using workload::Layer;
using workload::Operator;

std::optional<DataType> format_of(onnx::ElementType type) {
  switch (type) {
    case onnx::ElementType::float64:
      return DataType::fp64;
    case onnx::ElementType::float32:
      return DataType::fp32;
    case onnx::ElementType::float16:
      return DataType::fp16;
    case onnx::ElementType::bfloat16:
      return DataType::bf16;
    case onnx::ElementType::float8_e4m3fn:
    case onnx::ElementType::float8_e4m3fnuz:
    case onnx::ElementType::float8_e5m2:
    case onnx::ElementType::float8_e5m2fnuz:
      return DataType::fp8;
    default:
      return std::nullopt;
  }
}

[[noreturn]] void refuse(const Graph& graph, const Node& node, const std::string& problem) {
  throw ConfigError(graph.path + ": node '" + node.name + "': " + problem);
}

void refuse_unknown_shapes(const OnnxSurvey& survey) {
  for (NodeNumber number = 0; number < survey.nodes(); ++number) {
    const Node& node = survey.node(number);
    for (const auto* list : {&node.inputs, &node.outputs}) {
      for (const TensorIndex at : *list) {
        if (at != onnx::no_tensor && !survey.tensor(at).shape) {
          refuse(survey.graph(), node,
                 "the shape of '" + survey.tensor(at).name + "' is not known");
        }
      }
    }
  }
}

std::vector<std::uint64_t> flops_of(const std::vector<std::vector<Operator>>& operators) {
  std::vector<std::uint64_t> flops;
  for (const std::vector<Operator>& of_node : operators) {
    std::uint64_t& sum = flops.emplace_back(0);
    for (const Operator& op : of_node) {
      sum += op.forward_flops.count();
    }
  }
  return flops;
}

// Of floating-point numbers in tensors of these roles, the type of most elements; without narrow
// ones, of more than 8 bits.
std::optional<DataType> most_frequent(const Graph& graph, const std::set<onnx::Role>& roles,
                                      bool narrow_too) {
  std::map<DataType, std::uint64_t> elements;
  for (const onnx::Tensor& tensor : graph.tensors) {
    const auto format = format_of(tensor.type);
    if (roles.contains(tensor.role) && format && (narrow_too || !is_narrow(tensor.type))) {
      elements[*format] += tensor.elements();
    }
  }
  const auto most =
      std::max_element(elements.begin(), elements.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == elements.end() ? std::nullopt : std::optional(most->first);
}

constexpr std::size_t most_period = 8;           // stretches of a layer
constexpr double most_flops_of_sample = 0x1p62;  // so that sums over layers fit 64 bits

void refuse_large(const Graph& graph, const std::vector<Layer>& layers) {
  double flops = 0;
  for (const Layer& layer : layers) {
    flops += static_cast<double>(layer.forward_flops().count());
  }
  if (flops > most_flops_of_sample) {
    throw ConfigError(graph.path + ": the model is too large: a sample takes more than 2^62 FLOP");
  }
}

class Stretches {
 public:
  Stretches(std::vector<std::vector<Operator>> operators, const std::vector<Crossing>& crossings)
      : operators_(std::move(operators)), crossings_(crossings) {
    ends_ = layer_ends(crossings, flops_of(operators_));
  }

  std::vector<Layer> join() {
    join_small();
    join_repeated();
    std::vector<Layer> layers;
    for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
      Layer& layer = layers.emplace_back();
      layer.name = "part " + std::to_string(i);
      layer.boundary_elements = crossings_[ends_[i + 1]].elements;
      for (NodeNumber number = ends_[i]; number < ends_[i + 1]; ++number) {
        std::move(operators_[number].begin(), operators_[number].end(),
                  std::back_inserter(layer.operators));
      }
    }
    return layers;
  }

 private:
  using Products = std::vector<std::vector<workload::MatrixProduct>>;

  template <class Is>
  bool has(std::size_t stretch, const Is& is) const {
    return std::any_of(operators_.begin() + ends_[stretch], operators_.begin() + ends_[stretch + 1],
                       [&](const std::vector<Operator>& operators) {
                         return std::any_of(operators.begin(), operators.end(), is);
                       });
  }

  // A stretch without a product goes to the side to which more crosses; the first one, where inputs
  // are looked up, stays when it does anything.
  void join_small() {
    const auto any = [](const Operator&) { return true; };
    const auto is_product = [](const Operator& op) { return op.is_matrix_product(); };
    std::size_t i = 0;
    while (ends_.size() > 2 && i + 1 < ends_.size()) {
      if (i == 0 ? has(i, any) : has(i, is_product)) {
        ++i;
        continue;
      }
      const bool is_last = i + 2 == ends_.size();
      const bool to_next =
          i == 0 || (!is_last && crossings_[ends_[i + 1]].tensors > crossings_[ends_[i]].tensors);
      ends_.erase(ends_.begin() + static_cast<std::ptrdiff_t>(to_next ? i + 1 : i));
    }
  }

  std::vector<workload::MatrixProduct> products(std::size_t stretch) const {
    std::vector<workload::MatrixProduct> all;
    for (NodeNumber number = ends_[stretch]; number < ends_[stretch + 1]; ++number) {
      for (const Operator& op : operators_[number]) {
        if (op.is_matrix_product()) {
          all.push_back(op.product);
        }
      }
    }
    return all;
  }

  // Stretches with other products that come again in turn, as attention and MLP do, are one layer.
  void join_repeated() {
    Products of;  // [stretches]
    for (std::size_t i = 0; i + 1 < ends_.size(); ++i) {
      of.push_back(products(i));
    }
    std::vector<NodeNumber> kept;
    std::size_t at = 0;
    while (at < of.size()) {
      const std::size_t first = at;
      const std::size_t period = period_at(of, first);
      do {
        kept.push_back(ends_[at]);
        at += period;
      } while (period > 1 && repeats(of, first, at, period));
    }
    kept.push_back(ends_.back());
    ends_ = std::move(kept);
  }

  static bool repeats(const Products& of, std::size_t first, std::size_t other, std::size_t count) {
    const auto from = of.begin() + static_cast<std::ptrdiff_t>(first);
    return other + count <= of.size() &&
           std::equal(from, from + static_cast<std::ptrdiff_t>(count),
                      of.begin() + static_cast<std::ptrdiff_t>(other));
  }

  // Fewest stretches from there on that come again behind them; 1 where none do.
  static std::size_t period_at(const Products& of, std::size_t at) {
    for (std::size_t period = 1; period <= most_period; ++period) {
      if (repeats(of, at, at + period, period)) {
        return period;
      }
    }
    return 1;
  }

  std::vector<std::vector<Operator>> operators_;
  const std::vector<Crossing>& crossings_;
  std::vector<NodeNumber> ends_;
};

}  // namespace

std::optional<DataType> data_type_of(const Graph& graph) {
  using onnx::Role;
  const bool is_quantised =
      std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
        return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorIndex at) {
          return at != onnx::no_tensor && graph.tensor(at).role == Role::parameter &&
                 graph.tensor(at).elements() > 1 && is_narrow(graph.tensor(at).type);
        });
      });
  // Weights that are quantised do not say what is computed in, but for want of anything else.
  struct Source {
    std::set<Role> roles;
    bool narrow_too;
  };
  std::vector<Source> sources{{{Role::parameter}, true}, {{Role::input}, true}};
  if (is_quantised) {
    sources.insert(sources.begin(),
                   {{{Role::activation, Role::input}, false}, {{Role::parameter}, false}});
  }
  for (const Source& source : sources) {
    if (const auto type = most_frequent(graph, source.roles, source.narrow_too)) {
      return type;
    }
  }
  return std::nullopt;
}

workload::Workload layers_of(const Graph& graph, DataType data_type) {
  const OnnxSurvey survey(graph);
  refuse_unknown_shapes(survey);
  const std::vector<NodeCut> cuts = find_tensor_cuts(survey);
  const OnnxOperators make(survey, cuts, data_type);
  std::vector<std::vector<Operator>> operators;
  for (NodeNumber number = 0; number < survey.nodes(); ++number) {
    operators.push_back(make.of(number));
  }
  workload::Workload workload;
  const bool any = std::any_of(operators.begin(), operators.end(),
                               [](const auto& of_node) { return !of_node.empty(); });
  if (!any) {
    throw ConfigError(graph.path + ": the model has nothing to compute or move");
  }
  const std::vector<Crossing> crossings = crossings_of(survey, cuts, make);
  workload.layers = Stretches(std::move(operators), crossings).join();
  refuse_large(graph, workload.layers);
  workload.layers.back().boundary_elements = 0;
  workload.data_type = data_type;
  workload.training = false;
  workload.samples = 1;
  return workload;
}

}  // namespace tessera::sim
