#include "onnx/layer_ends.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

namespace tessera::sim {
namespace {

using onnx::TensorIndex;

constexpr std::uint64_t small_share = 8;  // stretches of no more than 1/8 of the FLOPs stay whole

// Nodes between which a tensor is needed: crossed are the places behind the first, up to the last.
struct Span {
  NodeNumber first = 0;
  NodeNumber last = 0;
};

// By tensor that is no view. Nodes that only view it read nothing.
std::map<TensorIndex, Span> spans_of(const OnnxSurvey& survey) {
  std::map<TensorIndex, Span> spans;
  std::map<TensorIndex, std::uint32_t> readers;
  for (NodeNumber number = 0; number < survey.nodes(); ++number) {
    if (survey.is_view(number)) {
      continue;
    }
    for (const TensorIndex at : survey.node(number).inputs) {
      if (at == onnx::no_tensor || survey.is_known(at)) {
        continue;
      }
      const TensorIndex seen = survey.viewed(at);
      const NodeNumber maker = survey.maker(seen);
      const auto [place, is_new] = spans.emplace(seen, Span{maker, number});
      if (maker == no_node && is_new) {
        place->second.first = number;  // an input is with its first reader
      }
      place->second.last = number;
    }
  }
  return spans;
}

// Closes what is between the nodes of a set.
void close_sets(const std::vector<NodeCut>& cuts, std::vector<Crossing>& crossings) {
  std::map<std::uint32_t, Span> sets;
  for (NodeNumber number = 0; number < cuts.size(); ++number) {
    if (cuts[number].set > 0) {
      sets.emplace(cuts[number].set, Span{number, number}).first->second.last = number;
    }
  }
  for (const auto& [set, span] : sets) {
    for (NodeNumber at = span.first + 1; at <= span.last; ++at) {
      crossings[at].is_open = false;
    }
  }
}

class Ends {
 public:
  Ends(const std::vector<Crossing>& crossings, const std::vector<std::uint64_t>& flops)
      : crossings_(crossings), sums_(flops.size() + 1) {
    std::partial_sum(flops.begin(), flops.end(), sums_.begin() + 1);
  }

  std::vector<NodeNumber> find() {
    const auto nodes = static_cast<NodeNumber>(crossings_.size() - 1);
    ends_ = {0};
    cut(0, nodes);
    ends_.push_back(nodes);
    return std::move(ends_);
  }

 private:
  std::uint64_t fewest_inside(NodeNumber first, NodeNumber end) const {
    std::uint64_t fewest = std::numeric_limits<std::uint64_t>::max();
    for (NodeNumber at = first + 1; at < end; ++at) {
      fewest = crossings_[at].is_open ? std::min(fewest, crossings_[at].tensors) : fewest;
    }
    return fewest;
  }

  bool is_small(NodeNumber first, NodeNumber end) const {
    return sums_[end] - sums_[first] <= sums_.back() / small_share;
  }

  // Ends inside, in order.
  void cut(NodeNumber first, NodeNumber end) {
    const std::uint64_t fewest = fewest_inside(first, end);
    const bool is_all = first == 0 && end + 1 == crossings_.size();
    if (fewest == std::numeric_limits<std::uint64_t>::max() || (!is_all && is_small(first, end))) {
      return;
    }
    NodeNumber begin = first;
    for (NodeNumber at = first + 1; at < end; ++at) {
      if (crossings_[at].is_open && crossings_[at].tensors == fewest) {
        cut(begin, at);
        ends_.push_back(at);
        begin = at;
      }
    }
    cut(begin, end);
  }

  const std::vector<Crossing>& crossings_;
  std::vector<std::uint64_t> sums_;
  std::vector<NodeNumber> ends_;
};

}  // namespace

std::vector<Crossing> crossings_of(const OnnxSurvey& survey, const std::vector<NodeCut>& cuts,
                                   const OnnxOperators& operators) {
  std::vector<Crossing> crossings(survey.nodes() + 1);
  for (const auto& [tensor, span] : spans_of(survey)) {
    for (NodeNumber at = span.first + 1; at <= span.last; ++at) {
      ++crossings[at].tensors;
      crossings[at].elements += operators.elements(survey.tensor(tensor));
    }
  }
  for (Crossing& crossing : crossings) {
    crossing.is_open = crossing.tensors > 0;  // else one side does not need the other
  }
  close_sets(cuts, crossings);
  return crossings;
}

std::vector<NodeNumber> layer_ends(const std::vector<Crossing>& crossings,
                                   const std::vector<std::uint64_t>& flops) {
  return Ends(crossings, flops).find();
}

}  // namespace tessera::sim
