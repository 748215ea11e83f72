#include "node_order.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tessera::onnx {
namespace {

void add_read(const FileNode& node, std::set<std::string>& names);

std::set<std::string> names_given(const FileGraph& graph) {
  std::set<std::string> names;
  for (const Declared& input : graph.inputs) {
    names.insert(input.name);
  }
  for (const Tensor& initializer : graph.initializers) {
    names.insert(initializer.name);
  }
  return names;
}

// Names that a graph inside of a node takes from around it.
void add_taken(const FileGraph& graph, std::set<std::string>& names) {
  std::set<std::string> read;
  std::set<std::string> own = names_given(graph);
  for (const FileNode& node : graph.nodes) {
    add_read(node, read);
    own.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const Declared& output : graph.outputs) {
    read.insert(output.name);
  }
  std::set_difference(read.begin(), read.end(), own.begin(), own.end(),
                      std::inserter(names, names.end()));
}

void add_read(const FileNode& node, std::set<std::string>& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& [name, graph] : node.graphs) {
    add_taken(*graph, names);
  }
}

// [nodes] those that stand before each, by number; a node that reads its own output among them.
std::vector<std::set<std::size_t>> before_each(const FileGraph& graph) {
  const std::vector<FileNode>& nodes = graph.nodes;
  const std::set<std::string> given = names_given(graph);
  std::unordered_map<std::string, std::size_t> maker;
  for (std::size_t number = 0; number < nodes.size(); ++number) {
    for (const std::string& output : nodes[number].outputs) {
      if (!output.empty() && !given.contains(output)) {
        maker.emplace(output, number);
      }
    }
  }
  std::vector<std::set<std::size_t>> before(nodes.size());
  for (std::size_t number = 0; number < nodes.size(); ++number) {
    std::set<std::string> read;
    add_read(nodes[number], read);
    for (const std::string& name : read) {
      const auto found = maker.find(name);
      if (found != maker.end()) {
        before[number].insert(found->second);
      }
    }
  }
  return before;
}

// Of numbers of nodes; shorter than they are where some wait for each other.
std::vector<std::size_t> order_of(const std::vector<std::set<std::size_t>>& before) {
  std::vector<std::vector<std::size_t>> after(before.size());
  std::vector<std::size_t> awaited(before.size());
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t number = 0; number < before.size(); ++number) {
    awaited[number] = before[number].size();
    for (const std::size_t other : before[number]) {
      after[other].push_back(number);
    }
    if (awaited[number] == 0) {
      ready.push(number);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t number = ready.top();
    ready.pop();
    order.push_back(number);
    for (const std::size_t later : after[number]) {
      if (--awaited[later] == 0) {
        ready.push(later);
      }
    }
  }
  return order;
}

// Numbers of nodes of which each reads what the one before it makes, and the first what the last
// does. Some node must not be in `order`, which has all that wait for no ring.
std::vector<std::size_t> ring_of(const std::vector<std::set<std::size_t>>& before,
                                 const std::vector<std::size_t>& order) {
  std::vector<bool> is_left(before.size(), true);
  for (const std::size_t number : order) {
    is_left[number] = false;
  }
  const auto left = [&](std::size_t number) { return bool{is_left[number]}; };
  std::size_t at = 0;
  while (!left(at)) {
    ++at;
  }
  // Each that is left waits for one that is left, so that going back comes round.
  std::vector<std::size_t> way;
  std::set<std::size_t> seen;
  while (seen.insert(at).second) {
    way.push_back(at);
    at = *std::find_if(before[at].begin(), before[at].end(), left);
  }
  way.erase(way.begin(), std::find(way.begin(), way.end(), at));
  std::reverse(way.begin(), way.end());
  std::rotate(way.begin(), std::min_element(way.begin(), way.end()), way.end());
  return way;
}

// An output of one that the other reads.
std::string tensor_between(const FileNode& one, const FileNode& other) {
  std::set<std::string> read;
  add_read(other, read);
  return *std::find_if(one.outputs.begin(), one.outputs.end(),
                       [&](const std::string& output) { return read.contains(output); });
}

[[noreturn]] void refuse_ring(const FileGraph& graph, const std::vector<std::size_t>& ring,
                              const std::string& path) {
  constexpr std::size_t most_named = 8;
  std::string names;
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const FileNode& node = graph.nodes[ring[i]];
    if (i < most_named) {
      names += node.origin.node + (i == 0 ? " makes '" : ", which makes '") +
               tensor_between(node, graph.nodes[ring[(i + 1) % ring.size()]]) + "' for ";
    }
  }
  if (ring.size() > most_named) {
    names += std::to_string(ring.size() - most_named) + " more up to ";
  }
  fail_at(path, graph.nodes[ring.front()].origin,
          "the graph has a cycle: " + names + "the first of them");
}

}  // namespace

void put_in_order(FileGraph& graph, const std::string& path) {
  const std::vector<std::set<std::size_t>> before = before_each(graph);
  bool is_in_order = true;
  for (std::size_t number = 0; number < before.size(); ++number) {
    is_in_order = is_in_order && (before[number].empty() || *before[number].rbegin() < number);
  }
  const std::vector<std::size_t> order =
      is_in_order ? std::vector<std::size_t>{} : order_of(before);
  if (is_in_order) {
    return;
  }
  if (order.size() != graph.nodes.size()) {
    refuse_ring(graph, ring_of(before, order), path);
  }
  std::vector<FileNode> nodes;
  nodes.reserve(order.size());
  for (const std::size_t number : order) {
    nodes.push_back(std::move(graph.nodes[number]));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace tessera::onnx
