#include "onnx/cut/tensor_cut.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <variant>

#include "onnx/cut/rules.hpp"

namespace tessera::sim {
namespace {

using onnx::Node;
using onnx::TensorIndex;
using workload::Sharding;

// Nodes tried for one set, so that a search among many ways ends.
constexpr std::size_t most_steps = 1024;

// Nodes that are cut together, as far as they are known.
struct Set {
  std::map<TensorIndex, int> axes;  // of cut tensors
  std::set<TensorIndex> whole_tensors;
  std::map<NodeNumber, AxesChoice> nodes;
};

class Finder {
 public:
  explicit Finder(const OnnxSurvey& survey) : survey_(survey), cuts_(survey.nodes()) {}

  std::vector<NodeCut> find() {
    for (NodeNumber number = 0; number < survey_.nodes(); ++number) {
      AxesChoice choice;
      if (cuts_[number].set == 0 && begins_cut(survey_, number, choice)) {
        steps_ = 0;
        Set set;
        std::optional<Set> grown = apply(number, choice, set) ? grow(set) : std::nullopt;
        if (grown && ends_well(*grown)) {
          take(*grown);
        }
      }
    }
    cut_table();
    return std::move(cuts_);
  }

 private:
  bool apply(NodeNumber number, const AxesChoice& choice, Set& set) const {
    set.nodes[number] = choice;
    return apply(survey_.node(number).inputs, choice.inputs, set) &&
           apply(survey_.node(number).outputs, choice.outputs, set);
  }

  // False where a tensor would have to be cut in two ways.
  bool apply(const std::vector<TensorIndex>& tensors, const std::vector<int>& axes,
             Set& set) const {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const TensorIndex at = tensors[i];
      if (at == onnx::no_tensor || survey_.is_known(at)) {
        continue;
      }
      if (axes[i] == whole) {
        if (set.axes.contains(at)) {
          return false;
        }
        set.whole_tensors.insert(at);
      } else if (set.whole_tensors.contains(at) ||
                 set.axes.emplace(at, axes[i]).first->second != axes[i]) {
        return false;
      }
    }
    return true;
  }

  struct Next {
    NodeNumber node = no_node;
    CutPlace place;
  };

  static std::size_t place_in(const std::vector<TensorIndex>& tensors, TensorIndex tensor) {
    return static_cast<std::size_t>(std::find(tensors.begin(), tensors.end(), tensor) -
                                    tensors.begin());
  }

  // A node at a cut tensor that is not in the set yet.
  std::optional<Next> next_of(const Set& set) const {
    for (const auto& [tensor, axis] : set.axes) {
      const NodeNumber maker = survey_.maker(tensor);
      if (maker != no_node && !set.nodes.contains(maker)) {
        return Next{maker, {false, place_in(survey_.node(maker).outputs, tensor), axis}};
      }
      for (const NodeNumber reader : survey_.readers(tensor)) {
        if (!set.nodes.contains(reader)) {
          return Next{reader, {true, place_in(survey_.node(reader).inputs, tensor), axis}};
        }
      }
    }
    return std::nullopt;
  }

  // The set with all nodes that its cut tensors lead to; none where one needs a tensor whole.
  std::optional<Set> grow(const Set& set) {
    const std::optional<Next> next = next_of(set);
    if (!next) {
      return set;
    }
    if (++steps_ > most_steps || cuts_[next->node].set > 0) {
      return std::nullopt;
    }
    for (const AxesChoice& choice : cut_choices(survey_, next->node, next->place)) {
      Set larger = set;
      if (!apply(next->node, choice, larger)) {
        continue;
      }
      if (std::optional<Set> grown = grow(larger)) {
        return grown;
      }
    }
    return std::nullopt;
  }

  bool ends_well(const Set& set) const {
    const auto is_a = [&](Sharding sharding) {
      return std::count_if(set.nodes.begin(), set.nodes.end(),
                           [&](const auto& entry) { return entry.second.sharding == sharding; });
    };
    const bool has_rows = is_a(Sharding::row) > 0;
    const bool gives_output = std::any_of(set.axes.begin(), set.axes.end(), [&](const auto& entry) {
      return survey_.is_output(entry.first);
    });
    return has_rows || (gives_output && is_a(Sharding::column) == 1 && scores_words(set));
  }

  bool scores_words(const Set& set) const {
    return std::any_of(set.nodes.begin(), set.nodes.end(), [&](const auto& entry) {
      const auto* const product = std::get_if<onnx::Product>(&survey_.work(entry.first));
      return product != nullptr && entry.second.sharding == Sharding::column &&
             product->columns > product->depth;
    });
  }

  void take(const Set& set) {
    ++sets_;
    std::uint64_t heads = 0;
    for (const auto& [tensor, axis] : set.axes) {
      const auto& shape = *survey_.tensor(tensor).shape;
      heads = std::gcd(heads, static_cast<std::uint64_t>(shape[static_cast<std::size_t>(axis)]));
    }
    for (const auto& [number, choice] : set.nodes) {
      NodeCut& cut = cuts_[number];
      cut.sharding = choice.sharding;
      cut.heads = heads;
      cut.set = sets_;
      for (const int axis : choice.inputs) {
        cut.inputs.push_back(axis != whole);
      }
      cut_made_weights(survey_.node(number), choice);
    }
  }

  // What turns weights that are cut does so to a part of them.
  void cut_made_weights(const Node& node, const AxesChoice& choice) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorIndex at = node.inputs[i];
      if (at == onnx::no_tensor || choice.inputs[i] == whole || !survey_.is_constant(at) ||
          survey_.maker(at) == no_node || survey_.readers(at).size() > 1) {
        continue;
      }
      NodeCut& cut = cuts_[survey_.maker(at)];
      cut.sharding = Sharding::heads;
      cut.inputs.assign(survey_.node(survey_.maker(at)).inputs.size(), true);
    }
  }

  void cut_table() {
    NodeNumber largest = no_node;
    std::uint64_t most = 0;
    for (NodeNumber number = 0; number < survey_.nodes(); ++number) {
      const Node& node = survey_.node(number);
      if (!std::holds_alternative<onnx::Lookup>(survey_.work(number)) || node.op != "Gather" ||
          cuts_[number].set > 0 || !survey_.is_constant(node.inputs[0]) ||
          survey_.is_known(node.inputs[1])) {
        continue;
      }
      const auto axis = node.attributes.find("axis");
      const onnx::Tensor& table = survey_.tensor(node.inputs[0]);
      const bool by_rows =
          axis == node.attributes.end() || axis->second == onnx::Attribute(std::int64_t{0});
      if (by_rows && table.shape && table.shape->size() == 2 && table.elements() > most) {
        most = table.elements();
        largest = number;
      }
    }
    if (largest != no_node) {
      cuts_[largest].sharding = Sharding::row;
      cuts_[largest].inputs = {true};
    }
  }

  const OnnxSurvey& survey_;
  std::vector<NodeCut> cuts_;
  std::size_t steps_ = 0;
  std::uint32_t sets_ = 0;
};

}  // namespace

std::vector<NodeCut> find_tensor_cuts(const OnnxSurvey& survey) {
  return Finder(survey).find();
}

}  // namespace tessera::sim
