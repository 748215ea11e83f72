// Where NPUs stand in their graphs, for their outlook: what each task that is under way waits for.
#pragma once

#include <span>

#include "graph/collectives.hpp"
#include "graph/graph_outlook.hpp"

namespace tessera::executor {

class GraphStanding final : public GraphOutlook::Host {
 public:
  using Place = GraphTasks::Place;

  // All is kept by reference.
  GraphStanding(const GraphSetup& setup, std::span<const GraphNpu> npus,
                GraphCollectives& collectives)
      : setup_(setup), work_(setup.work), npus_(npus), collectives_(collectives) {}

  const PlannedCollective& plan_of(const Task& task) override { return collectives_.plan_of(task); }
  SimTime least_duration(std::uint32_t index, const GraphTasks& tasks, const Task& task) override;
  void tell_npu(std::uint32_t index, GraphOutlook& outlook) override;

 private:
  void tell_task(std::uint32_t index, const BegunTask& begun, GraphOutlook& outlook);
  template <class Tell>
  void tell_collective(std::uint32_t index, Place place, const Resumption& on_time,
                       const GraphOutlook& outlook, const Tell& tell);
  Resumption awaited_in(std::uint32_t index, const ActiveCollective& active,
                        const collective::CollectiveRun::Awaited& awaited,
                        const GraphOutlook& outlook) const;

  const GraphSetup& setup_;
  const GraphWork& work_;
  std::span<const GraphNpu> npus_;
  GraphCollectives& collectives_;
};

}  // namespace tessera::executor
