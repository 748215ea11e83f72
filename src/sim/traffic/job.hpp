// Work that is synthetic traffic for a while.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "tessera/sim/job.hpp"
#include "traffic/executor.hpp"

namespace tessera::sim {

class TrafficJob final : public Job {
 public:
  explicit TrafficJob(TrafficWork work) : traffic_(std::move(work)) {}

  std::unique_ptr<Work> work(const Platform& platform) const override;
  JobDescription describe(const Platform& platform) const override;
  std::string brief() const override;
  std::optional<std::uint32_t> usual_iterations() const override { return 1; }
  std::string repeat_objection() const override {
    return "synthetic traffic is sent once; more 'cycles' of it last longer";
  }
  bool promises(const Platform&) const override { return true; }
  std::shared_ptr<const workload::GraphSource> graphs(const Platform& platform) const override;

 private:
  TrafficWork traffic_;
};

}  // namespace tessera::sim
