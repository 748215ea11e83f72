// Work that is operators which the cores of a chip share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "chip/experiment.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/sim/job.hpp"

namespace tessera::sim {

class ChipJob final : public Job {
 public:
  // `model`: that the operators were lowered from.
  ChipJob(std::unique_ptr<executor::ChipWork> chip, std::optional<ModelSurvey> model)
      : chip_(std::move(chip)), model_(std::move(model)) {}

  std::unique_ptr<Work> work(const Platform& platform) const override;
  JobDescription describe(const Platform& platform) const override;
  bool promises(const Platform&) const override { return true; }
  std::string brief() const override;
  std::shared_ptr<const workload::GraphSource> graphs(const Platform& platform) const override;
  std::uint64_t first_address() const override { return chip_->first_address; }
  void number(NextNumbers& next) override;
  BytesByNode kept(const Platform& platform, const ServingMemory& memory) const override;
  bool must_fit_alone() const override { return true; }

 private:
  std::unique_ptr<executor::ChipWork> chip_;
  std::optional<ModelSurvey> model_;
};

using ChipWorkReader = std::unique_ptr<executor::ChipWork> (*)(config::Section&, ChipStart,
                                                               std::optional<ModelSurvey>&);
// Of a workload that becomes such work; `read` reads its own keys.
std::unique_ptr<JobReader> make_chip_reader(const JobSetup& setup, ChipWorkReader read);

}  // namespace tessera::sim
