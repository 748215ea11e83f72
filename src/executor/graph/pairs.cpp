// Which nodes exchange messages of graphs.
#include <set>

#include "collectives/plans.hpp"
#include "graph/tasks.hpp"
#include "tessera/executor/graph/graph.hpp"

namespace tessera::executor {

void visit_graph_pairs(const GraphSetup& setup,
                       const std::function<void(EntityId from, EntityId to)>& visit) {
  constexpr std::size_t nodes_at_a_time = 4096;
  const GraphWork& work = setup.work;
  CollectivePlans plans(setup);
  for (std::uint32_t npu = 0; npu < work.npus(); ++npu) {
    if (!work.survey.at_work[npu]) {
      continue;
    }
    std::set<const PlannedCollective*> seen;
    std::set<std::uint32_t> peers;
    workload::GraphPosition position;
    for (auto nodes = work.source->read(npu, position, nodes_at_a_time); !nodes.empty();
         nodes = work.source->read(npu, position, nodes_at_a_time)) {
      for (const workload::GraphNode& node : nodes) {
        if (node.action == workload::GraphAction::send) {
          peers.insert(node.peer);
        } else if (node.action == workload::GraphAction::collective) {
          const PlannedCollective& plan = plans.of(task_of(work, node));
          if (seen.insert(&plan).second) {
            plan.visit_peers(
                npu, [&](std::uint32_t peer, const auto& /*sends*/) { peers.insert(peer); });
          }
        }
      }
    }
    for (const std::uint32_t peer : peers) {
      visit(work.nodes[npu], work.nodes[peer]);
    }
  }
}

}  // namespace tessera::executor
