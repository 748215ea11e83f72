// Work that is operators on a chip.
#include <algorithm>
#include <map>
#include <utility>

#include "chip/job.hpp"
#include "chip/npu_effort.hpp"
#include "notes/library_note.hpp"
#include "notes/through_host_note.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/npu/idle_time.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {
namespace {

class ChipsWork final : public Work {
 public:
  ChipsWork(const Platform& platform, const ChipJob& job, const executor::ChipWork& chip)
      : platform_(platform), job_(job), chip_(chip) {}

  std::uint64_t tiles() const override { return chip_.cores.size(); }
  std::vector<EntityId> nodes() const override { return chip_.cores; }
  std::uint32_t iterations() const override { return job_.iterations; }
  std::uint64_t instructions() const override { return chip_.shares(); }
  double peak_flops_per_s() const override {
    return sum_of_peaks(platform_, chip_.cores, chip_.data_type);
  }
  std::uint64_t samples() const override { return 1; }
  double flops_of_sample() const override {
    double sum = 0;
    for (const executor::ChipOperator& op : chip_.operators) {
      sum += op.flops ? static_cast<double>(op.flops->count())
                      : 2 * static_cast<double>(op.tiles->macs()) + op.tiles->vector_flops();
    }
    return sum;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    note_unused_collectives_of(*platform_.network, "operators on a chip", notes);
    note_unused_way_of(platform_.machine, "operators on a chip", notes);
    return notes;
  }
  std::vector<std::string> phases() const override { return {"operator"}; }
  std::vector<executor::Activity> activities() const override {
    return {executor::Activity::compute, executor::Activity::bubble};
  }
  std::vector<Part> parts() const override { return {{"all", tiles()}}; }
  std::size_t part_of(std::uint32_t) const override { return 0; }
  const std::vector<std::string>& names() const override { return chip_.names; }
  std::vector<EntityId> samples_of_parts() const override { return chip_.cores; }
  void describe(EntityId node, trace::NodeRow& row) const override {
    if (platform_.machine.topology->computes(node)) {
      row.stage = 0;
    }
  }

  std::size_t shared_bytes() const override {
    constexpr std::size_t of_operator = 1024;
    return chip_.operators.size() * of_operator;
  }
  std::size_t bytes_a_tile() const override {
    constexpr std::size_t of_core = 64;
    return of_core;
  }
  std::size_t compute_bytes(std::uint64_t nodes) const override {
    return platform_.compute->predicted_bytes(nodes);
  }
  Wide operand_bytes() const override { return 0; }
  SparseCounts predicted_events() const override {
    PredictedEvents events(platform_);
    const EntityId host = chip_.cores.front();
    for (std::uint32_t number = 0; number < chip_.operators.size(); ++number) {
      const npu::TiledOperator& op = *chip_.operators[number].tiles;
      const Effort effort = effort_of_group(op);
      for (std::uint32_t place = 0; place < chip_.cores.size(); ++place) {
        const std::uint32_t first = chip_.first_group(number, place);
        if (first < op.groups()) {
          const EntityId core = chip_.cores[place];
          effort.add_to(events, core, chip_.core,
                        quotient_up(op.groups() - first, chip_.cores.size()), 1);
          events.message(host, core, chip_.message, 1);
          events.message(core, host, chip_.message, 1);
        }
      }
    }
    return events.take();
  }
  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    std::vector<const npu::TiledOperator*> operators;
    std::vector<std::string> names;
    for (const executor::ChipOperator& op : chip_.operators) {
      operators.push_back(op.tiles.get());
      names.push_back(op.name);
    }
    return npu::make_cores({platform_.machine, members, chip_.core,
                            std::make_shared<npu::ListedOperators>(
                                std::move(operators), std::move(names), chip_.first_address),
                            false, compute_slot, memory_slot});
  }
  std::unique_ptr<executor::Executor> make_executor(
      std::span<const EntityId> members, executor::Observer* observer,
      const executor::OutlookSetup& outlook) const override {
    executor::OutlookSetup own = outlook;
    using Known = std::map<std::pair<EntityId, std::uint32_t>, SimTime>;
    own.least_duration = [this, known = Known()](EntityId core, std::uint32_t number) mutable {
      const auto [time, is_new] = known.try_emplace(std::pair(core, number));
      if (is_new) {
        time->second = least_share(core, number);
      }
      return time->second;
    };
    return executor::make_chip_executor({platform_.machine, chip_, members, job_.iterations,
                                         executor_slot, network_slot, compute_slot, observer,
                                         std::move(own)});
  }
  bool tells_when_cores_begin() const override { return true; }

 private:
  // Of a core's share of an operator. One that is slowed has a clock of its own.
  SimTime least_share(EntityId core, std::uint32_t number) const {
    const machine::Machine& machine = platform_.machine;
    if (machine.speeds.contains(core)) {
      return SimTime::zero();
    }
    const auto place =
        static_cast<std::uint32_t>(std::ranges::find(chip_.cores, core) - chip_.cores.begin());
    const npu::LeastWork work = npu::least_work(
        *chip_.operators[number].tiles, chip_.first_group(number, place), chip_.cores.size());
    const bool in_sram = chip_.core.operands == npu::Operands::sram;
    return npu::least_time(
        chip_.core, work, in_sram ? machine.operand_bandwidth(machine.tile_of(core)) : Bandwidth());
  }

  const Platform& platform_;
  const ChipJob& job_;
  const executor::ChipWork& chip_;
};

}  // namespace

std::unique_ptr<Work> ChipJob::work(const Platform& platform) const {
  return std::make_unique<ChipsWork>(platform, *this, *chip_);
}

}  // namespace tessera::sim
