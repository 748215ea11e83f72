// Work that is requests to models of several tenants.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tessera/executor/serving/serving.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

class ServingJob final : public Job {
 public:
  // `has_idle_time`: see memory::MemoryModel.
  ServingJob(std::unique_ptr<executor::ServingWork> serving, bool has_idle_time)
      : serving_(std::move(serving)), has_idle_time_(has_idle_time) {}

  const executor::ServingWork& serving() const { return *serving_; }

  std::unique_ptr<Work> work(const Platform& platform) const override;
  JobDescription describe(const Platform& platform) const override;
  bool promises(const Platform& platform) const override;
  std::string brief() const override;
  std::string repeat_objection() const override { return "requests are served once"; }
  std::optional<std::uint32_t> usual_iterations() const override { return 1; }
  std::size_t services() const override { return serving_->tenants.size(); }
  std::string cutter() const override { return "npus"; }
  SparseTable cut(const Platform& platform, int ranks,
                  const machine::Weights& weights) const override;
  std::shared_ptr<const workload::GraphSource> graphs(const Platform& platform) const override;
  std::uint64_t first_address() const override { return serving_->first_address; }
  void number(NextNumbers& next) override;
  BytesByNode kept(const Platform& platform, const ServingMemory& memory) const override;
  bool takes_the_rest() const override { return true; }
  void share_in(const machine::Machine& machine, ServingMemory& memory) const override;
  void fit(const machine::Machine& machine, const ServingMemory& memory,
           config::Section workload) override;

 private:
  std::unique_ptr<executor::ServingWork> serving_;
  bool has_idle_time_;
};

}  // namespace tessera::sim
