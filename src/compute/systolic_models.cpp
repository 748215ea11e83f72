// The `systolic` and `systolic-cycle` compute models: a matrix product takes the cycles of a
// systolic array (tessera/compute/systolic.hpp), all else what vector work takes in `gemm`.
//
// `systolic` has the cycles in closed form, `systolic-cycle` steps every MAC with random operands
// and checks the outputs: int8 for int8, fp32 for any other type. It steps once for each shape and
// keeps the cycles, which do not depend on data; its times are those of `systolic`. Every rank
// steps for itself.
//
// An operation finds the array idle: operations do not overlap. Products of one operation
// (`count`), groups of a convolution among them, follow each other like tiles. A product takes no
// less than its bytes at the memory's bandwidth.

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "checked.hpp"
#include "fixed_times.hpp"
#include "operation_time.hpp"
#include "read_array.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/compute/systolic.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/fastest_clock.hpp"
#include "tessera/machine/macs_per_pe.hpp"
#include "tessera/workload/whole_product.hpp"

namespace tessera::compute {
namespace {

using workload::MatrixProduct;
using workload::Operation;

struct Settings {
  MatrixShape array;
  machine::MacsPerPe macs_per_pe;
  std::unique_ptr<Dataflow> dataflow;
  Clock clock;           // 0: of an array that has the tile's peak of the data type
  FlopRate vector_peak;  // 0: the tile's of the data type
};

class SystolicModel : public ComputeModel {
 public:
  explicit SystolicModel(Settings settings) : settings_(std::move(settings)) {}

  std::unique_ptr<Compute> build(const ComputeSetup& setup) const override {
    return std::make_unique<FixedTimes>(*this, setup);
  }

  bool is_fixed() const override { return true; }
  bool uses_shapes() const override { return true; }
  SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                   const Operation& operation) const override {
    const Bandwidth memory = machine.operand_bandwidth(tile);
    const auto& [rows, columns, depth, count] = operation.product;
    const SimTime busy =
        std::min({rows, columns, depth, count}) > 0
            ? std::max(array_time(tile, operation), traffic_time(operation.bytes, memory))
            : vector_time(operation, vector_rate(tile, operation), memory);
    return busy + traffic_time(operation.added, memory);
  }

  std::size_t predicted_bytes(std::uint64_t) const override { return 0; }
  std::optional<FlopRate> clocked_rate(DataType type) const override {
    if (settings_.clock == Clock()) {
      return std::nullopt;
    }
    const auto [rows, columns] = settings_.array;
    return machine::array_rate(rows * columns, settings_.macs_per_pe.of(type), settings_.clock);
  }
  bool uses_peaks() const override {
    return settings_.clock == Clock() || settings_.vector_peak == FlopRate();
  }
  void note_keys_without_effect(config::Section& section, const machine::Machine&,
                                const std::vector<const machine::Tile*>&,
                                const WorkTraits& work) const override {
    if (work.product_types) {
      machine::note_macs_without_effect(section, settings_.macs_per_pe, *work.product_types);
    }
  }

 protected:
  const Settings& settings() const { return settings_; }

 private:
  virtual std::uint64_t cycles(const Operation& operation) const = 0;

  SimTime array_time(const machine::Tile& tile, const Operation& operation) const {
    const std::uint64_t taken = cycles(operation);
    if (settings_.clock > Clock()) {
      return rounded_up_duration(taken, 1'000'000'000'000ULL, settings_.clock.frequency_hz());
    }
    const auto [rows, columns] = settings_.array;
    const std::uint64_t macs = settings_.macs_per_pe.of(operation.data_type);
    return execution_time(Flops(product_of({2, rows, columns, macs, taken})),
                          tile.rate(operation.data_type));
  }

  FlopRate vector_rate(const machine::Tile& tile, const Operation& operation) const {
    return settings_.vector_peak > FlopRate() ? settings_.vector_peak
                                              : tile.rate(operation.data_type);
  }

  Settings settings_;
};

class ClosedForm final : public SystolicModel {
 public:
  ClosedForm(Settings settings, bool by_paper)
      : SystolicModel(std::move(settings)), by_paper_(by_paper) {}

 private:
  std::uint64_t cycles(const Operation& operation) const override {
    const Dataflow& dataflow = *settings().dataflow;
    const MatrixProduct product =
        folded(workload::whole_product(operation), settings().macs_per_pe.of(operation.data_type));
    return by_paper_ ? static_cast<std::uint64_t>(
                           dataflow.paper_completions(settings().array, {&product, 1}).back())
                     : systolic_cycles(dataflow, settings().array, product);
  }

  bool by_paper_;
};

constexpr std::uint64_t usual_seed = 1;

class CycleByCycle final : public SystolicModel {
 public:
  CycleByCycle(Settings settings, std::uint64_t seed)
      : SystolicModel(std::move(settings)), seed_(seed) {}

  void note_keys_without_effect(config::Section& section, const machine::Machine& machine,
                                const std::vector<const machine::Tile*>& tiles,
                                const WorkTraits& work) const override {
    SystolicModel::note_keys_without_effect(section, machine, tiles, work);
    if (seed_ != usual_seed) {
      config::note_without_effect(section, "seed", "cycles, which do not depend on the data");
    }
  }

 private:
  using Shape = std::array<std::uint64_t, 6>;

  std::uint64_t cycles(const Operation& operation) const override {
    const MatrixProduct product = workload::whole_product(operation);
    const bool int8 = operation.data_type == DataType::int8;
    const std::uint64_t macs = settings().macs_per_pe.of(operation.data_type);
    const Shape shape{product.rows,  product.columns, product.depth,
                      product.count, int8 ? 1U : 0U,  macs};
    const std::scoped_lock lock(mutex_);
    const auto [known, is_new] = known_.try_emplace(shape);
    if (is_new) {
      known->second = stepped_completions(*settings().dataflow, settings().array, {&product, 1},
                                          operation.data_type, seed_, macs)
                          .back();
    }
    return known->second;
  }

  std::uint64_t seed_;
  mutable std::mutex mutex_;  // ranks can be threads
  mutable std::map<Shape, std::uint64_t> known_;
};

const config::NameKey dataflow_key{
    "dataflow", [] { return dataflows().names(); }, "tpu",
    "how operands move through the array, see `tessera list dataflows`"};
const config::Key<Clock> clock_key{
    "clock", Clock(), "clock of the array; 0 Hz: the clock at which the array has the tile's peak",
    config::between(Clock(), fastest_clock)};
const config::ChoiceKey<bool> by_paper{"variant",
                                       {{"exact", false}, {"paper", true}},
                                       "exact",
                                       "exact, or paper: equations (2) to (8) of the paper"};
const config::Key<std::uint64_t> seed_key{"seed", usual_seed, "seed of the data"};

Settings read(config::Section& section) {
  Settings settings;
  if (!section.has("array")) {
    section.error("", "a systolic array needs an 'array', [rows, columns]");
  }
  constexpr MatrixShape any{1, 1};
  settings.array = read_array(section).value_or(any);
  settings.macs_per_pe = machine::read_macs_per_pe(section);
  settings.dataflow = dataflows().at(dataflow_key.read(section))();
  settings.clock = clock_key.read(section);
  settings.vector_peak = vector_peak_key().read(section);
  return settings;
}

std::unique_ptr<ComputeModel> make_closed_form(config::Section& section) {
  Settings settings = read(section);
  const bool is_paper = by_paper.read(section);
  constexpr MatrixProduct any{1, 1, 1, 1};
  if (is_paper && settings.dataflow->paper_completions(settings.array, {&any, 1}).empty()) {
    section.error("variant", "there is no paper for this dataflow; expected exact");
  }
  return std::make_unique<ClosedForm>(std::move(settings), is_paper);
}

std::unique_ptr<ComputeModel> make_cycle_by_cycle(config::Section& section) {
  Settings settings = read(section);
  // Each unit is in memory, some tens of bytes.
  constexpr std::uint64_t most_units = std::uint64_t{1} << 24;
  // What a fold keeps grows with the square of its sides.
  constexpr std::uint64_t longest_side = 8192;
  if (settings.array.rows * settings.array.columns > most_units) {
    section.error("array",
                  "has more than 16777216 units, too many to step each; the model systolic "
                  "has the same times in closed form");
  } else if (std::max(settings.array.rows, settings.array.columns) > longest_side) {
    section.error("array",
                  "has a side of more than 8192 units, too long to step; the model systolic has "
                  "the same times in closed form");
  }
  const std::uint64_t seed = seed_key.read(section);
  return std::make_unique<CycleByCycle>(std::move(settings), seed);
}

std::vector<ParameterInfo> parameters(ParameterInfo own) {
  return {array_parameter("", "[rows, columns] of multiply-accumulate units"),
          machine::macs_per_pe_parameter(),
          dataflow_key.info(),
          clock_key,
          vector_peak_key(),
          std::move(own)};
}

const Registration closed_form(
    compute_models(),
    {"systolic",
     "matrix products in the cycles of a systolic array, in closed form; vector work by its bytes",
     parameters(by_paper)},
    make_closed_form);

const Registration cycle_by_cycle(compute_models(),
                                  {"systolic-cycle",
                                   "as `systolic`, but with every unit of the array stepped cycle "
                                   "by cycle on data, once per shape",
                                   parameters(seed_key)},
                                  make_cycle_by_cycle);

}  // namespace
}  // namespace tessera::compute
