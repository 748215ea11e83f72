// Compute models without memory: an operation always takes the same time on the device.
#pragma once

#include <map>
#include <vector>

#include "host_stream.hpp"
#include "tessera/compute/compute.hpp"

namespace tessera::compute {

// Of an operation that takes `beside` beside a collective, and `alone` without, when the collective
// goes on for `left`: what is not done by then goes on alone.
SimTime time_beside(SimTime left, SimTime beside, SimTime alone);

// Keeps no state but that of the hosts: the program executes one operation at a time.
class FixedTimes final : public Compute {
 public:
  FixedTimes(const ComputeModel& model, const ComputeSetup& setup);
  void handle(pdes::Context& context, const pdes::Event& event) override;
  const char* name() const override { return "compute"; }
  // It sends to nobody; who waits for it knows what comes then.
  std::optional<pdes::Outlook> outlook(std::uint32_t, const pdes::Moment&) override {
    return pdes::Outlook{};
  }
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    host_.save(index, writer);
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    host_.restore(index, reader);
  }

 private:
  SimTime at_node(EntityId node, SimTime duration) const;
  SimTime beside(std::size_t type, const ExecuteRequest& request);

  const ComputeModel* model_;
  const machine::Machine* machine_;
  std::vector<workload::Operation> known_;  // the operations; empty where nothing slows them
  std::size_t operations_ = 0;
  std::vector<SimTime> durations_;  // by type of tile, then operation; on a node of full speed
  // The same beside a collective, by the GB/s that it brings; zero: not yet made.
  std::map<std::uint16_t, std::vector<SimTime>> beside_;
  std::vector<bool> persistent_;  // by operation; empty where none is
  HostStream host_;
};

}  // namespace tessera::compute
