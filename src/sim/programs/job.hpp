// Work that a strategy cuts into the programs of a plan.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tessera/plan/sharing.hpp"
#include "tessera/plan/strategy.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

class ProgramsJob final : public Job {
 public:
  // On these nodes, in the order of its NPUs.
  explicit ProgramsJob(machine::NodeOrder nodes) : nodes_(std::move(nodes)) {}

  std::unique_ptr<Work> work(const Platform& platform) const override;
  JobDescription describe(const Platform& platform) const override;
  std::string brief() const override;
  PlannedWork* planned() override { return &planned_; }
  const PlannedWork* planned() const override { return &planned_; }
  bool promises(const Platform&) const override { return true; }
  std::shared_ptr<const workload::GraphSource> graphs(const Platform& platform) const override;

  std::span<const workload::Operation> operations() const override {
    return planned_.plan.operations;
  }
  void number(NextNumbers& next) override;
  BytesByNode kept(const Platform& platform, const ServingMemory& memory) const override;

 private:
  machine::NodeOrder nodes_;
  PlannedWork planned_;
};

// Reads the workload of a section; none after complaints.
using WorkloadReader = std::function<std::optional<workload::Workload>(config::Section&)>;

// Of a workload that the section `strategy` cuts; with a section `execution` its programs run as
// graphs.
std::unique_ptr<JobReader> make_programs_reader(const JobSetup& setup, WorkloadReader read);

// Messages share what they do on the platform's network, or what is said.
plan::Plan plan_of(const Platform& platform, const workload::Workload& workload,
                   const plan::Strategy& strategy);
plan::Plan plan_of(const Platform& platform, const workload::Workload& workload,
                   const plan::Strategy& strategy, plan::Sharing sharing);
// Of arithmetic alone. Both must outlive what is given.
plan::OperationTime arithmetic_time_of(const compute::ComputeModel& compute,
                                       const machine::Machine& machine);
// Of an iteration of a plan, see plan::placed_time.
SimTime estimated_iteration(const Platform& platform, const plan::Plan& plan,
                            plan::Sharing sharing);

}  // namespace tessera::sim
