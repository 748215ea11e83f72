// Compute models: how long an operation takes on a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tessera/compute/messages.hpp"
#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/pdes/component.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::compute {

struct ComputeSetup {
  const machine::Machine& machine;
  std::span<const EntityId> members;
  std::span<const workload::Operation> operations;  // of all programs; requests name their place
  unsigned slot = 0;
  unsigned memory_slot = 0;  // of the memory that operands may be in
};

// What the units of one core did in a span of time.
struct CoreUse {
  EntityId node;
  SimTime begin;
  SimTime end;
  SimTime matrix_busy;  // something was in the array
  SimTime vector_busy;
  SimTime dma_busy;                 // something was moved to or from memory
  std::uint64_t matrix_active = 0;  // cycles of the array that the products would fill
  Bytes loaded;
  Bytes stored;
  std::uint64_t tiles = 0;
};
using CoreUseSink = std::function<void(const CoreUse&)>;

// What cores that access memory need to know for an outlook, of a run on several ranks.
struct OperandWays {
  const pdes::RegionView* regions = nullptr;  // outlives the cores
  // See network::Network and executor::OutlookSetup.
  std::function<pdes::Exit(EntityId from, EntityId to)> exit_of;
  std::function<EntityId(EntityId tile)> memory_node;
};

// Cores in motion: take ExecuteRequest events, raise the event asked for.
class Compute : public pdes::Component {
 public:
  // Of models that know units.
  virtual void visit_cores(SimTime /*end*/, const CoreUseSink& /*sink*/) const {}
  virtual void report_bins(CoreUseSink /*sink*/) {}
  // From now on has an outlook of the accesses of what is executed; who lets something be executed
  // says when it will (Work::tells_when_cores_begin).
  virtual void promise_accesses(const OperandWays& /*ways*/) {}
  // A line for each core, of `most` at the most, that has begun what it has not finished: where it
  // stands, for the report of a run that cannot go on.
  virtual std::vector<std::string> waiting(std::size_t /*most*/) const { return {}; }
};

// Several in one: the events and the state of a node are those of one of them.
struct ComputeParts {
  static constexpr std::uint16_t none = 0xFFFF;

  std::vector<std::unique_ptr<Compute>> parts;  // all of the same members
  std::vector<std::uint16_t> part_of;           // [local entities], or `none`
};
std::unique_ptr<Compute> make_compute_of(ComputeParts parts);

// What the work of a machine has, of which some keys of compute models are.
struct WorkTraits {
  // Tiles send messages and do nothing else.
  bool only_sends = false;
  // Likewise nothing that takes the time of a compute model; nor any access to memory.
  bool computes_nothing = false;
  bool accesses_nothing = false;
  // Operations say what belongs to a row, and kernels of attention which sequences they are of:
  // language models that tiles serve.
  bool has_rows = false;
  // Operators of cores say what vector work they are of, as lists, ONNX models and served models
  // do; that of programs and graphs is so many multiplications and additions.
  bool names_vector_work = false;
  // Programs of plans, which alone tell how fast a collective's bytes come in beside an operation.
  bool has_programs = false;
  // Those of which some collectives are closed forms (strategy.aggregation).
  bool has_closed_collectives = false;
  // Programs and graphs, which tell what collectives go on beside an operation.
  bool has_background = false;
  bool has_fused_attention = false;
  // Types of numbers of its products, or more; none: they are not known.
  std::optional<std::set<DataType>> product_types{};
  // Passes of vector units by name (npu::names_of_passes), or more; none: they are not known.
  std::optional<std::set<std::string>> vector_passes{};

  // What has nothing to do; that of several works is it with each of them added.
  static WorkTraits nothing() {
    return {.only_sends = true,
            .computes_nothing = true,
            .accesses_nothing = true,
            .product_types = std::set<DataType>(),
            .vector_passes = std::set<std::string>()};
  }
  void add(const WorkTraits& other) {
    only_sends = only_sends && other.only_sends;
    computes_nothing = computes_nothing && other.computes_nothing;
    accesses_nothing = accesses_nothing && other.accesses_nothing;
    has_rows = has_rows || other.has_rows;
    names_vector_work = names_vector_work || other.names_vector_work;
    has_programs = has_programs || other.has_programs;
    has_closed_collectives = has_closed_collectives || other.has_closed_collectives;
    has_background = has_background || other.has_background;
    has_fused_attention = has_fused_attention || other.has_fused_attention;
    unite(product_types, other.product_types);
    unite(vector_passes, other.vector_passes);
  }

 private:
  template <class Set>
  static void unite(std::optional<Set>& all, const std::optional<Set>& others) {
    if (all && others) {
      all->insert(others->begin(), others->end());
    } else {
      all.reset();
    }
  }
};

// Of an NPU: its cores, which share each operation, the channels that they have together, and the
// cores that take from these at a time, those of other NPUs among them.
struct CoresOfNpu {
  std::uint32_t cores = 1;
  std::uint32_t channels = 1;
  std::uint32_t sharers = 1;
};

// A compute model as configured.
class ComputeModel {
 public:
  virtual ~ComputeModel() = default;
  virtual std::unique_ptr<Compute> build(const ComputeSetup& setup) const = 0;
  // Time of one operation on an idle tile of the machine. Planning uses it for machine.tile.
  virtual SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                           const workload::Operation& operation) const = 0;
  // The same of an operation that cores of an NPU share, the tile the first of them: until the
  // share of that one is over, with an even part of what their channels give. Models whose tiles
  // are NPUs by themselves know one core.
  virtual SimTime shared_duration(const machine::Machine& machine, const machine::Tile& tile,
                                  const workload::Operation& operation,
                                  const CoresOfNpu& /*npu*/) const {
    return duration(machine, tile, operation);
  }
  // As `duration`, while a collective goes on in the background, which takes a part of the device;
  // what comes to the tile with it, as far as that is known.
  virtual SimTime duration_beside(const machine::Machine& machine, const machine::Tile& tile,
                                  const workload::Operation& operation,
                                  Bandwidth /*arriving*/) const {
    return duration(machine, tile, operation);
  }
  virtual bool slows_beside() const { return false; }
  // Whether its work is shared out to all units when it begins, so that the part of those that a
  // collective has is made up for when it is over, or when the others are through.
  virtual bool is_persistent(const workload::Operation&) const { return false; }
  // Whether an operation takes its `duration` at a node of full speed, whatever else goes on, and
  // more only where it waits for its host or is beside a collective.
  virtual bool is_fixed() const { return false; }
  // At a node of full speed, at least, whatever else goes on there.
  virtual SimTime least_duration(const machine::Machine& machine, const machine::Tile& tile,
                                 const workload::Operation& operation) const {
    return is_fixed() ? duration(machine, tile, operation) : SimTime::zero();
  }
  // Whether what is executed accesses memory.
  virtual bool accesses_memory() const { return false; }
  // A lower bound of an operation at a node of full speed, of its arithmetic: its duration but
  // where it accesses memory, whose time is that of another model.
  SimTime arithmetic_time(const machine::Machine& machine, const machine::Tile& tile,
                          const workload::Operation& operation) const {
    const ComputeModel& model = of(tile);
    return model.accesses_memory() ? model.least_duration(machine, tile, operation)
                                   : model.duration(machine, tile, operation);
  }
  // Whether the time of a matrix product follows from its shape, not from its FLOPs alone.
  virtual bool uses_shapes() const { return false; }
  // Whether kernels of fused attention take prompts and sequences that generate together
  // (workload::AttentionSizes).
  virtual bool joins_sequences() const { return false; }
  // What a host takes to issue operations beside the device; of several models `of` a tile says it.
  virtual HostTimes host_times() const { return {}; }
  virtual bool has_hosts() const { return !host_times().is_nothing(); }
  virtual std::size_t predicted_bytes(std::uint64_t nodes) const = 0;
  // What products of `type` reach at most where the model has a clock of its own, whatever the
  // tile's peak is; none: they take the tile's.
  virtual std::optional<FlopRate> clocked_rate(DataType /*type*/) const { return std::nullopt; }
  // Whether any operation takes the peak of its tile and the share of it.
  virtual bool uses_peaks() const { return true; }
  // Notes keys of its section that change nothing on these tiles, which have it, with such work.
  virtual void note_keys_without_effect(config::Section& /*section*/,
                                        const machine::Machine& /*machine*/,
                                        const std::vector<const machine::Tile*>& /*tiles*/,
                                        const WorkTraits& /*work*/) const {}
  // Where there are several, the one of a tile.
  virtual const ComputeModel& of(const machine::Tile& /*tile*/) const { return *this; }
};

// Compute models by name. A maker reads the `compute` section (all keys but `model`).
using ComputeMaker = std::function<std::unique_ptr<ComputeModel>(config::Section&)>;
Registry<ComputeMaker>& compute_models();

std::unique_ptr<ComputeModel> read_compute(config::Section section);

// Of a machine's section: `compute`, and for tiles of a type the `compute` of `types.NAME` where it
// has one. With several, each tile has the component of its model, whose events go there alone.
std::unique_ptr<ComputeModel> read_compute_by_type(config::Section machine_section,
                                                   const machine::Machine& machine);

// Notes, for each of these sections that a tile goes by, the keys that change nothing.
void note_keys_without_effect(config::Section machine_section, const machine::Machine& machine,
                              const ComputeModel& compute, const WorkTraits& work);
// Where products take the rate of an array with a clock of its own, and tiles state another peak.
std::vector<std::string> notes_of_peaks(const machine::Machine& machine,
                                        const ComputeModel& compute, const WorkTraits& work);

}  // namespace tessera::compute
