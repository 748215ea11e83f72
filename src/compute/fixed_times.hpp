// Compute models without memory: an operation always takes the same time.
#pragma once

#include <vector>

#include "tessera/compute/compute.hpp"

namespace tessera::compute {

// Keeps no state: the program executes one operation at a time.
class FixedTimes final : public Compute {
 public:
  FixedTimes(const ComputeModel& model, const ComputeSetup& setup);
  void handle(pdes::Context& context, const pdes::Event& event) override;
  const char* name() const override { return "compute"; }
  // It sends to nobody; who waits for it knows what comes then.
  std::optional<pdes::Outlook> outlook(std::uint32_t, const pdes::Moment&) override {
    return pdes::Outlook{};
  }
  void save(std::uint32_t, pdes::StateWriter&) const override {}
  void restore(std::uint32_t, pdes::StateReader&) override {}

 private:
  const machine::Machine* machine_;
  std::size_t operations_ = 0;
  std::vector<SimTime> durations_;  // by type of tile, then operation; on a node of full speed
};

}  // namespace tessera::compute
