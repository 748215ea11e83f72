// One rank's share of the simulated machine: its engine with all models.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "jobs/joint_work.hpp"
#include "results/recorder.hpp"
#include "tessera/comm/communicator.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/machine/partition/partition.hpp"
#include "tessera/memory/coherent/coherent_memory.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/sim/cuts/cuts.hpp"
#include "tessera/sim/experiment.hpp"

namespace tessera::sim {

struct RankModels {
  // `choice`: null, or the cut over as many ranks.
  RankModels(const Experiment& experiment, comm::Communicator& communicator,
             const CutChoice* choice = nullptr);
  RankModels(const RankModels&) = delete;
  RankModels& operator=(const RankModels&) = delete;

  const Experiment& experiment;
  comm::Communicator& communicator;
  CutChoice cut;
  const machine::Partition& partition;
  const std::vector<std::uint32_t>& owner;
  const std::vector<EntityId>& members;
  pdes::RegionView regions;
  pdes::Engine engine;
  std::unique_ptr<Work> work;
  std::vector<std::uint32_t> tenants;  // tenant_numbers
  std::unique_ptr<network::Network> network;
  std::unique_ptr<memory::Memory> memory;
  std::unique_ptr<compute::Compute> compute;
  Recorder recorder;
  std::unique_ptr<executor::Executor> executor;
  std::unique_ptr<memory::CoherentMemory> coherent;  // null where nothing uses it

 private:
  // Whether ranks are told what models send: else these need not keep it.
  bool promises() const;
  // Tells models what others know of messages, for their outlooks.
  void learn_routes();
};

}  // namespace tessera::sim
