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

// Names that a graph inside of a node takes from around it.
void add_taken(const FileGraph& graph, std::set<std::string>& names) {
  std::set<std::string> read;
  std::set<std::string> own;
  for (const FileNode& node : graph.nodes) {
    add_read(node, read);
    own.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const Declared& output : graph.outputs) {
    read.insert(output.name);
  }
  for (const Declared& input : graph.inputs) {
    own.insert(input.name);
  }
  for (const Tensor& initializer : graph.initializers) {
    own.insert(initializer.name);
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

// [nodes] the others that stand before each, by number.
std::vector<std::set<std::size_t>> before_each(const std::vector<FileNode>& nodes) {
  std::unordered_map<std::string, std::size_t> maker;
  for (std::size_t number = 0; number < nodes.size(); ++number) {
    for (const std::string& output : nodes[number].outputs) {
      if (!output.empty()) {
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
      if (found != maker.end() && found->second != number) {
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

}  // namespace

void put_in_order(FileGraph& graph) {
  const std::vector<std::set<std::size_t>> before = before_each(graph.nodes);
  bool is_in_order = true;
  for (std::size_t number = 0; number < before.size(); ++number) {
    is_in_order = is_in_order && (before[number].empty() || *before[number].rbegin() < number);
  }
  const std::vector<std::size_t> order =
      is_in_order ? std::vector<std::size_t>{} : order_of(before);
  if (order.size() != graph.nodes.size()) {
    return;
  }
  std::vector<FileNode> nodes;
  nodes.reserve(order.size());
  for (const std::size_t number : order) {
    nodes.push_back(std::move(graph.nodes[number]));
  }
  graph.nodes = std::move(nodes);
}

}  // namespace tessera::onnx
