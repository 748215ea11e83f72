// The `npu` compute model: every tile of a machine is a core. An operation becomes tiles of the
// core, whose loads and stores are accesses to the memory of the tile (or, by choice, to its SRAM),
// so that it takes as long as they do. An idle core's time, which plans are made with, is that of
// the same core with the tile's memory to itself.

#include <utility>

#include "tessera/compute/compute.hpp"
#include "tessera/compute/messages.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/npu/idle_time.hpp"

namespace tessera::npu {
namespace {

void refuse_missing_memory(const CoreConfig& core, const machine::Machine& machine) {
  if (core.operands == Operands::memory && machine.channels.empty()) {
    throw ConfigError(
        "machine.compute: 'npu' with operands in memory needs machine.dram; else set "
        "compute.operands to sram");
  }
}

bool has_work(const workload::Operation& operation) {
  return operation.flops > Flops() || operation.bytes > Bytes() || operation.added > Bytes();
}

// What each core has of the channels of its NPU.
Bandwidth part_of(Bandwidth channel, const compute::CoresOfNpu& npu) {
  const Wide part = Wide{channel.bytes_per_second()} * npu.channels / npu.sharers;
  return Bandwidth::bytes_per_second(static_cast<std::uint64_t>(part));
}

// The operators of a machine's programs, with the cores that do them.
class ProgramCores final : public compute::Compute {
 public:
  ProgramCores(const CoreConfig& core, const compute::ComputeSetup& setup) {
    refuse_missing_memory(core, setup.machine);
    std::vector<const TiledOperator*> operators;
    for (const workload::Operation& operation : setup.operations) {
      owned_.push_back(lower(operation, {core, 1, operation.data_type}));
      operators.push_back(owned_.back().get());
      has_work_.push_back(has_work(operation));
    }
    cores_ = make_cores({setup.machine, setup.members, core,
                         std::make_shared<ListedOperators>(std::move(operators)), true, setup.slot,
                         setup.memory_slot});
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (event.port.kind() == compute::execute_kind) {
      const auto request = event.as<compute::ExecuteRequest>();
      if (!has_work_[request.operation]) {
        context.send_self(SimTime::zero(), request.done, std::uint32_t{0}, event.tag);
        return;
      }
    }
    cores_->handle(context, event);
  }
  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return cores_->outlook(rank, moment);
  }
  void promise_accesses(const compute::OperandWays& ways) override {
    cores_->promise_accesses(ways);
  }
  void pass_boundary(SimTime boundary) override { cores_->pass_boundary(boundary); }
  std::size_t resident_bytes() const override { return cores_->resident_bytes(); }
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    cores_->save(index, writer);
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    cores_->restore(index, reader);
  }
  void visit_cores(SimTime end, const compute::CoreUseSink& sink) const override {
    cores_->visit_cores(end, sink);
  }
  void report_bins(compute::CoreUseSink sink) override { cores_->report_bins(std::move(sink)); }
  std::vector<std::string> waiting(std::size_t most) const override {
    return cores_->waiting(most);
  }

 private:
  std::vector<std::unique_ptr<TiledOperator>> owned_;
  std::vector<bool> has_work_;
  std::unique_ptr<compute::Compute> cores_;
};

class NpuModel final : public compute::ComputeModel {
 public:
  explicit NpuModel(const CoreConfig& core) : core_(core) {}
  const CoreConfig& core() const { return core_; }

  std::unique_ptr<compute::Compute> build(const compute::ComputeSetup& setup) const override {
    return std::make_unique<ProgramCores>(core_, setup);
  }

  SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                   const workload::Operation& operation) const override {
    return shared_duration(machine, tile, operation, {});
  }
  SimTime shared_duration(const machine::Machine& machine, const machine::Tile& tile,
                          const workload::Operation& operation,
                          const compute::CoresOfNpu& npu) const override {
    refuse_missing_memory(core_, machine);
    if (!has_work(operation)) {
      return SimTime::zero();
    }
    const auto op = lower(operation, {core_, npu.cores, operation.data_type});
    IdleMemory memory;
    if (core_.operands == Operands::sram) {
      memory.bandwidth = machine.operand_bandwidth(tile);
    } else if (!machine.channels.empty()) {
      const machine::MemoryChannel& channel =
          tile.channel ? *tile.channel : machine.channels.front();
      memory = {part_of(channel.bandwidth, npu), channel.latency};
    }
    return core_.clock.time_of_cycle(run_alone(core_, {op.get()}, memory, 0, npu.cores).cycles);
  }

  // What is known of an idle core is no bound: other times of what is loaded may change the order
  // of tiles.
  SimTime least_duration(const machine::Machine& machine, const machine::Tile& tile,
                         const workload::Operation& operation) const override {
    if (!has_work(operation)) {
      return SimTime::zero();
    }
    const auto op = lower(operation, {core_, 1, operation.data_type});
    return least_time(
        core_, least_work(*op),
        core_.operands == Operands::sram ? machine.operand_bandwidth(tile) : Bandwidth());
  }
  bool accesses_memory() const override { return core_.operands == Operands::memory; }
  std::optional<FlopRate> clocked_rate(DataType type) const override {
    return Target{core_, 1, type}.array_rate();
  }
  bool uses_peaks() const override { return false; }

  void note_keys_without_effect(config::Section& section, const machine::Machine& /*machine*/,
                                const std::vector<const machine::Tile*>& /*tiles*/,
                                const compute::WorkTraits& work) const override {
    npu::note_keys_without_effect(section, core_, work.names_vector_work, work.vector_passes);
    if (work.product_types) {
      machine::note_macs_without_effect(section, core_.macs_per_pe, *work.product_types);
    }
  }
  std::size_t predicted_bytes(std::uint64_t nodes) const override {
    // A core with two tiles of some hundred buffers.
    constexpr std::size_t of_core = 16 * 1024;
    return nodes * of_core;
  }

 private:
  CoreConfig core_;
};

const Registration npu_registration(
    compute::compute_models(),
    {"npu",
     "cores with a systolic array, a vector unit, a scratchpad and DMA, with double-buffered tiles",
     core_parameters()},
    [](config::Section& section) -> std::unique_ptr<compute::ComputeModel> {
      return std::make_unique<NpuModel>(read_core(section));
    });

}  // namespace

const CoreConfig* core_of(const compute::ComputeModel& model) {
  const auto* const npu = dynamic_cast<const NpuModel*>(&model);
  return npu == nullptr ? nullptr : &npu->core();
}

}  // namespace tessera::npu
