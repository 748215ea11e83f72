#include "graph/waiting.hpp"

#include <algorithm>

#include "graph/collectives.hpp"
#include "graph/node_times.hpp"
#include "tessera/machine/machine.hpp"

namespace tessera::executor {

std::string waiting_of(const GraphSetup& setup, const GraphNpu& npu) {
  const GraphWork& work = setup.work;
  std::string text = setup.machine.topology->node_name(work.nodes[npu.number]) + " (" +
                     work.source->name_of(npu.number) + "): ";
  if (npu.begun.empty()) {
    return text + "nothing under way, waits since " + to_string(npu.since);
  }
  const auto& [place, parts, time] = npu.begun.front();
  const Task& task = npu.tasks[place];
  text += "node " + std::to_string(task.id) + " (" + work.names[task.name] + "), ";
  if (task.action == workload::GraphAction::receive) {
    text += "for a message from NPU " + std::to_string(task.peer) + " with tag " +
            std::to_string(task.tag);
  } else if (task.action == workload::GraphAction::collective) {
    const auto active =
        std::find_if(npu.collectives.begin(), npu.collectives.end(),
                     [place = place](const auto& one) { return one.place == place; });
    text += "collective " + std::to_string(task.number) + " of " +
            (task.group == 0 ? "all NPUs" : work.groups[task.group].name);
    if (active != npu.collectives.end()) {
      text += " in " + active->run->waits_in();
    }
  } else {
    text += to_string(lane_of(work, task));
  }
  return text + ", since " + to_string(time);
}

}  // namespace tessera::executor
