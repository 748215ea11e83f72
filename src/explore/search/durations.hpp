// How long tiles take for operations, each asked for once.
#pragma once

#include <unordered_map>

#include "search/slowing.hpp"
#include "search/span.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/workload/operation_hash.hpp"

namespace tessera::explore {

class Durations {
 public:
  // Both must outlive it.
  Durations(const machine::Machine& machine, const compute::ComputeModel& compute)
      : machine_(machine), compute_(compute) {}

  // Least: of the fastest type of tiles; likely: of the slowest.
  Span of(const workload::Operation& operation);
  // On the slowest type, beside a collective.
  const Slowing& beside(const workload::Operation& operation);

 private:
  // [ps] At the end of the range of times where it takes longer.
  double time_on(const machine::Tile& tile, const workload::Operation& operation) const;
  // At least: memory may be faster than what an idle core takes it for.
  double least_on(const machine::Tile& tile, const workload::Operation& operation) const;

  const machine::Machine& machine_;
  const compute::ComputeModel& compute_;
  std::unordered_map<workload::Operation, Span, workload::OperationHash> known_;
  std::unordered_map<workload::Operation, Slowing, workload::OperationHash> beside_;
};

}  // namespace tessera::explore
