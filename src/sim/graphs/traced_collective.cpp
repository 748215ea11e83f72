#include "graphs/traced_collective.hpp"

#include <map>
#include <utility>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/workload/chakra/chakra.hpp"

namespace tessera::sim {
namespace {

using collective::TracedOperation;
using workload::GraphAction;
using workload::GraphNode;

std::string place_of(const std::string& path, const GraphNode& node) {
  return path + ": node " + std::to_string(node.id) +
         (node.offset ? " (byte " + std::to_string(*node.offset) + ")" : "");
}

TracedOperation operation_of(const GraphNode& node, std::string place) {
  TracedOperation operation;
  operation.bytes = node.bytes.count();
  operation.peer = node.peer;
  operation.tag = node.tag;
  switch (node.action) {
    case GraphAction::send:
      operation.action = TracedOperation::Action::send;
      break;
    case GraphAction::receive:
      operation.action = TracedOperation::Action::receive;
      break;
    case GraphAction::compute:
      operation.action = TracedOperation::Action::add;
      break;
    case GraphAction::nothing:
      operation.bytes = 0;
      break;
    default:
      throw ConfigError(place + " is none of send, receive and compute, which a collective is of");
  }
  operation.place = std::move(place);
  return operation;
}

std::vector<TracedOperation> read_member(const std::string& path) {
  std::vector<GraphNode> nodes;
  std::map<std::uint64_t, std::uint32_t> numbers;
  std::vector<TracedOperation> operations;
  workload::ChakraFile file(path);
  for (GraphNode node; file.next(node);) {
    node.offset = file.node_offset();
    if (!numbers.emplace(node.id, static_cast<std::uint32_t>(nodes.size())).second) {
      throw ConfigError(place_of(path, node) + " is there twice");
    }
    operations.push_back(operation_of(node, place_of(path, node)));
    nodes.push_back(std::move(node));
  }
  for (std::size_t number = 0; number < nodes.size(); ++number) {
    TracedOperation& operation = operations[number];
    std::uint64_t received = 0;
    for (const auto* dependencies :
         {&nodes[number].data_dependencies, &nodes[number].control_dependencies}) {
      for (const std::uint64_t id : *dependencies) {
        const auto found = numbers.find(id);
        if (found == numbers.end()) {
          throw ConfigError(operation.place + " depends on node " + std::to_string(id) +
                            ", which is not there");
        }
        const TracedOperation& before = operations[found->second];
        received += before.action == TracedOperation::Action::receive ? before.bytes : 0;
        operation.after.push_back(found->second);
      }
    }
    if (operation.action == TracedOperation::Action::add && operation.bytes == 0) {
      operation.bytes = received;
    }
  }
  return operations;
}

}  // namespace

collective::TracedOperations read_traced_collective(const std::string& prefix,
                                                    std::uint32_t members) {
  collective::TracedOperations operations;
  for (std::uint32_t member = 0; member < members; ++member) {
    operations.push_back(read_member(workload::chakra_path(prefix, member)));
  }
  return operations;
}

}  // namespace tessera::sim
