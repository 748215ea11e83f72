// The `gemm` compute model: time of a matrix product from its shape and of vector work from its
// bytes, after a launch overhead for each operation. gemm_time.hpp has the method.
//
// Three constants are meant to be calibrated for a type of device, on measurements of that device
// alone: matrix_efficiency on single products, launch_overhead and memory_efficiency on iterations
// of one node. Everything else is a property of the device. Deviations from a real GPU: every tile
// of the list reaches the same share of the peak but for the cache's bandwidth, and one that does
// not divide the output computes its rest in full.
//
// With `issue` the host is a stream beside the device (host_stream.hpp). `duration` is the device's
// alone then, a lower bound.

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fixed_times.hpp"
#include "gemm_time.hpp"
#include "operation_time.hpp"
#include "read_array.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/data_type.hpp"
#include "vector_kernels.hpp"

namespace tessera::compute {
namespace {

struct GemmSettings {
  MatrixDevice device;
  Fraction matrix_efficiency;
  Fraction eight_bit_efficiency;
  Fraction unaligned_efficiency;
  Fraction memory_efficiency;
  VectorKernels vectors;
  std::optional<Fraction> attention_efficiency;
  AttentionBlocks attention;
  Fraction attention_memory_efficiency;
  SimTime attention_launch_overhead;
  Fraction sustained_clock;
  std::uint64_t collective_units = 0;
  std::uint64_t collective_accesses = 0;
  bool persistent_products = false;
  FlopRate vector_peak;  // 0: the tile's of the data type
  SimTime launch_overhead;
  SimTime kernel_gap;
  HostTimes host;
};

class GemmModel final : public ComputeModel {
 public:
  explicit GemmModel(GemmSettings settings) : settings_(std::move(settings)) {}

  std::unique_ptr<Compute> build(const ComputeSetup& setup) const override {
    return std::make_unique<FixedTimes>(*this, setup);
  }

  bool is_fixed() const override { return true; }
  bool uses_shapes() const override { return true; }
  HostTimes host_times() const override { return settings_.host; }
  bool joins_sequences() const override {
    return settings_.attention_efficiency && settings_.attention.rows > 0;
  }
  bool slows_beside() const override { return settings_.collective_units > 0; }
  bool is_persistent(const workload::Operation& operation) const override {
    return settings_.persistent_products && operation.is_matrix_product();
  }
  SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                   const workload::Operation& operation) const override {
    return time_on(settings_.device, machine, tile, operation, Bandwidth());
  }
  SimTime duration_beside(const machine::Machine& machine, const machine::Tile& tile,
                          const workload::Operation& operation, Bandwidth arriving) const override {
    MatrixDevice device = settings_.device;
    device.units -= settings_.collective_units;
    const SimTime beside = time_on(
        device, machine, tile, operation,
        Bandwidth::bytes_per_second(arriving.bytes_per_second() * settings_.collective_accesses));
    // Waves of fewer units may divide the blocks better, and ask less of the cache.
    return std::max(beside, duration(machine, tile, operation));
  }

  std::size_t predicted_bytes(std::uint64_t) const override { return 0; }
  void note_keys_without_effect(config::Section& section, const machine::Machine& machine,
                                const std::vector<const machine::Tile*>& tiles,
                                const WorkTraits& work) const override;

 private:
  void note_attention(config::Section& section, const WorkTraits& work) const;
  void note_background(config::Section& section, const WorkTraits& work) const;
  void note_types(config::Section& section, const std::set<DataType>& types) const;
  // `device`: with those units that are left. `taken`: of the memory.
  SimTime time_on(const MatrixDevice& device, const machine::Machine& machine,
                  const machine::Tile& tile, const workload::Operation& operation,
                  Bandwidth taken) const {
    if (operation.flops == Flops() && operation.bytes == Bytes()) {
      return SimTime::zero();  // nothing to launch
    }
    const Fraction left =
        Fraction::millionths(Fraction::one * device.units / settings_.device.units);
    const FlopRate peak = scaled(tile.rate(operation.data_type), left);
    const Bandwidth operands = machine.operand_bandwidth(tile);
    const auto reached = [&](Fraction share) {
      const Bandwidth alone = scaled(operands, share);
      return taken == Bandwidth() ? alone : std::min(alone, left_of(operands, taken));
    };
    const Bandwidth memory = reached(settings_.memory_efficiency);
    const SimTime after = settings_.kernel_gap + traffic_time(operation.added, memory);
    if (operation.kernel == workload::Kernel::fused_attention && settings_.attention_efficiency) {
      return fused_attention_time(
                 {device.units, scaled(sustained(peak), *settings_.attention_efficiency),
                  reached(settings_.attention_memory_efficiency),
                  settings_.attention_launch_overhead, tile.operands_in_dram ? tile.sram : Bytes()},
                 operation) +
             after;
    }
    if (operation.is_matrix_product()) {
      return settings_.launch_overhead +
             matrix_time(device, {product_rate(sustained(peak), operation), memory}, operation) +
             after;
    }
    const FlopRate vector_peak =
        settings_.vector_peak > FlopRate() ? scaled(settings_.vector_peak, left) : peak;
    const VectorKernel& kernel = settings_.vectors.of(operation.kernel);
    return time_of(kernel, operation,
                   {vector_peak, reached(kernel.memory_efficiency),
                    tile.operands_in_dram ? tile.sram : Bytes(), device.units,
                    settings_.vectors.unit_threads()}) +
           after;
  }

  SimTime fused_attention_time(const AttentionDevice& device,
                               const workload::Operation& operation) const {
    const bool in_blocks = operation.attention && joins_sequences();
    return settings_.attention_launch_overhead +
           (in_blocks
                ? attention_time(device, settings_.attention, operation)
                : attention_time(device.rate, settings_.attention.fill, device.memory, operation));
  }

  // What is left of the most that any kernel reaches; a tenth at least, since neither stands still.
  Bandwidth left_of(Bandwidth operands, Bandwidth taken) const {
    const Fraction share = std::max({settings_.memory_efficiency, settings_.vectors.most(),
                                     settings_.attention_memory_efficiency});
    const std::uint64_t most = scaled(operands, share).bytes_per_second();
    const std::uint64_t left = most - std::min(most, taken.bytes_per_second());
    return Bandwidth::bytes_per_second(std::max(left, most / 10));
  }

  FlopRate sustained(FlopRate peak) const { return scaled(peak, settings_.sustained_clock); }

  // What a full wave of this product reaches.
  FlopRate product_rate(FlopRate peak, const workload::Operation& operation) const {
    const bool narrow = element_size(operation.data_type) == Bytes(1);
    const FlopRate rate =
        scaled(peak, narrow ? settings_.eight_bit_efficiency : settings_.matrix_efficiency);
    const bool slower = !settings_.device.array && !is_aligned(operation);
    return slower ? scaled(rate, settings_.unaligned_efficiency) : rate;
  }

  GemmSettings settings_;
};

using config::between;
using config::Key;

constexpr std::uint64_t most = 1 << 20;

const Key<std::uint64_t> units_key{"units", MatrixDevice{}.units,
                                   "units that work in parallel and share the peak: SMs of a GPU",
                                   between<std::uint64_t>(1, most)};
const config::OtherKey tiles_key{
    "tiles", "list of text", "none",
    "output tiles of one unit, e.g. [256x128, 128x128]; the fastest is taken"};
const Key<std::uint64_t> tile_depth{
    "tile_depth", MatrixDevice{}.tile_depth,
    "tiles: the depth is rounded up to a multiple of this many elements",
    between<std::uint64_t>(1, most)};
const Key<std::uint64_t> fill_key{"fill", 0, "tiles: start-up time of a tile, in elements of depth",
                                  between<std::uint64_t>(0, most)};
const Key<std::uint64_t> max_split{
    "max_split", MatrixDevice{}.max_split,
    "tiles: maximum number of parts that the depth is split into where tiles are few (split-K)",
    between<std::uint64_t>(1, most)};
const Key<Bandwidth> cache_bandwidth{"cache_bandwidth", Bandwidth(),
                                     "tiles: bandwidth of the cache that tiles read from, for all "
                                     "units together; 0 B/s: never the limit"};

constexpr Fraction some = Fraction::millionths(1);
const Key<Fraction> matrix_efficiency{"matrix_efficiency", Fraction(),
                                      "share of the peak that a full wave of products reaches",
                                      config::at_least(some)};
const config::DerivedKey<Fraction> eight_bit_efficiency{"eight_bit_efficiency", "matrix_efficiency",
                                                        "the same for products of fp8 and int8",
                                                        config::at_least(some)};
const Key<Fraction> unaligned_efficiency{
    "unaligned_efficiency", Fraction(),
    "tiles: factor on matrix_efficiency or eight_bit_efficiency where rows of the operands are not "
    "multiples of 16 bytes",
    config::at_least(some)};
const Key<Fraction> memory_efficiency{
    "memory_efficiency", Fraction(),
    "share of the operands' memory bandwidth that operations reach", config::at_least(some)};
const config::DerivedKey<Fraction> attention_efficiency{
    "attention_efficiency", "as any product, by its tiles",
    "share of the peak that fused (flash) attention reaches with long sequences; its time is then "
    "computed without tiles",
    config::at_least(some)};
const Key<std::uint64_t> attention_fill{
    "attention_fill", 0, "attention_efficiency: start-up time of a block of queries, in keys",
    between<std::uint64_t>(0, most)};
const Key<std::uint64_t> attention_rows{
    "attention_rows", 0,
    "attention_efficiency: queries per block; the blocks of all sequences of a batch then run in "
    "waves over the units, in one kernel (FlashAttention-2); 0: no waves",
    between<std::uint64_t>(0, most)};
const Key<std::uint64_t> attention_skip{"attention_skip", 0,
                                        "attention_rows: time of a block of the kernel's grid that "
                                        "lies beyond a sequence's last query, in keys",
                                        between<std::uint64_t>(0, most)};
const Key<Fraction> sustained_clock{
    "sustained_clock", Fraction(),
    "share of the clock that remains under the power limit during consecutive products",
    config::at_least(some)};
const Key<std::uint64_t> collective_units{
    "collective_units", 0,
    "units that a background collective takes from the operations that run concurrently",
    between<std::uint64_t>(0, most)};
const Key<std::uint64_t> collective_accesses{
    "collective_accesses", 0,
    "memory accesses per byte that a background collective brings, where its time is a closed "
    "form; operations that run concurrently have that much less memory bandwidth",
    between<std::uint64_t>(0, 16)};
const Key<bool> persistent_products{
    "persistent_products", false,
    "a product assigns its tiles to all units when it begins: tiles of units that a background "
    "collective occupies begin when the collective ends, or when the other units are done "
    "(persistent kernels)"};
const Key<SimTime> launch_overhead{"launch_overhead", SimTime::zero(), "time before each operation",
                                   config::at_least(SimTime::zero())};
const Key<SimTime> kernel_gap{
    "kernel_gap", SimTime::zero(),
    "time of a stream between the end of an operation and the beginning of the next",
    config::at_least(SimTime::zero())};
const config::DerivedKey<Fraction> attention_memory_efficiency{
    "attention_memory_efficiency", "memory_efficiency",
    "attention_efficiency: share of the operands' memory bandwidth that fused attention reaches",
    config::at_least(some)};
const config::DerivedKey<SimTime> attention_launch_overhead{
    "attention_launch_overhead", "launch_overhead",
    "attention_efficiency: time before each kernel of fused attention",
    config::at_least(SimTime::zero())};
const Key<SimTime> issue_key{
    "issue", SimTime::zero(),
    "host time to issue an operation or a collective, while the device executes earlier ones",
    config::at_least(SimTime::zero())};
const Key<SimTime> issue_pass_key{
    "issue_pass", SimTime::zero(),
    "host time for each pass of a micro-batch through its stage, in addition to issuing: a "
    "framework's schedule, batches, losses and timers",
    config::at_least(SimTime::zero())};

void GemmModel::note_keys_without_effect(config::Section& section, const machine::Machine& machine,
                                         const std::vector<const machine::Tile*>& tiles,
                                         const WorkTraits& work) const {
  std::vector<VectorMemory> memories;
  for (const machine::Tile* const tile : tiles) {
    const Bandwidth whole = machine.operand_bandwidth(*tile);
    const Bandwidth left = settings_.collective_accesses == 0 ? Bandwidth() : left_of(whole, whole);
    memories.push_back({whole, left, tile->operands_in_dram ? tile->sram : Bytes()});
  }
  settings_.vectors.note_without_effect(section, memories, work.has_rows);
  if (settings_.attention_efficiency) {
    note_attention(section, work);
  }
  note_background(section, work);
  if (work.product_types) {
    note_types(section, *work.product_types);
  }
}

void GemmModel::note_types(config::Section& section, const std::set<DataType>& types) const {
  const bool is_eight_bit =
      std::ranges::any_of(types, [](DataType type) { return element_size(type) == Bytes(1); });
  if (!is_eight_bit && settings_.eight_bit_efficiency != settings_.matrix_efficiency) {
    config::note_without_effect(section, eight_bit_efficiency.key(),
                                "work without products of fp8 and int8");
  }
  machine::note_macs_without_effect(section, settings_.device.macs_per_pe, types);
}

void GemmModel::note_attention(config::Section& section, const WorkTraits& work) const {
  if (!work.has_fused_attention) {
    constexpr std::string_view none = "work without fused (flash) attention";
    for (const auto& [key, is_set] :
         {std::pair(attention_efficiency.key(), true),
          std::pair(attention_fill.key(), settings_.attention.fill > 0),
          std::pair(attention_rows.key(), settings_.attention.rows > 0),
          std::pair(attention_skip.key(), settings_.attention.skip > 0),
          std::pair(attention_memory_efficiency.key(),
                    settings_.attention_memory_efficiency != settings_.memory_efficiency),
          std::pair(attention_launch_overhead.key(),
                    settings_.attention_launch_overhead != settings_.launch_overhead)}) {
      if (is_set) {
        config::note_without_effect(section, key, none);
      }
    }
  } else if (!work.has_rows) {
    constexpr std::string_view alike =
        "work whose sequences are all alike, as only those of requests differ";
    if (settings_.attention.rows > 0) {
      config::note_without_effect(section, attention_rows.key(), alike);
    }
    if (settings_.attention.skip > 0) {
      config::note_without_effect(section, attention_skip.key(), alike);
    }
  }
}

void GemmModel::note_background(config::Section& section, const WorkTraits& work) const {
  constexpr std::string_view alone = "plans without collectives beside operations";
  if (!work.has_background && settings_.collective_units > 0) {
    config::note_without_effect(section, collective_units.key(),
                                work.has_programs ? alone
                                                  : "any work but plans and graphs, as only for "
                                                    "these it is known what runs beside an "
                                                    "operation");
  }
  if (work.has_closed_collectives && (work.has_background || !work.has_programs)) {
    return;
  }
  const std::string_view with =
      work.has_programs && !work.has_background ? alone
      : work.has_programs
          ? "plans whose collectives all go message by message (strategy.aggregation: none)"
          : "any work but programs of plans, as only for these it is known how a collective "
            "proceeds";
  if (settings_.collective_accesses > 0) {
    config::note_without_effect(section, collective_accesses.key(), with);
  }
  if (settings_.persistent_products) {
    config::note_without_effect(section, persistent_products.key(), with);
  }
}

void read_tiles(config::Section& section, GemmSettings& settings) {
  MatrixDevice& device = settings.device;
  const std::string_view tiles = tiles_key.key();
  if (is_empty_list(section, tiles)) {
    section.error(tiles, "must name at least one tile, e.g. 256x128");
  }
  for (const std::string& text : section.get_list<std::string>(tiles)) {
    const std::optional<MatrixShape> tile = matrix_shape_from(text);
    if (tile) {
      device.tiles.push_back(*tile);
    } else {
      section.error(tiles, "'" + text + "' is not a tile; write rows and columns, e.g. 256x128");
    }
  }
  device.tile_depth = tile_depth.read(section);
  device.fill = fill_key.read(section);
  device.max_split = max_split.read(section);
  device.cache_bandwidth = cache_bandwidth.read(section);
  settings.unaligned_efficiency = unaligned_efficiency.read(section);
}

void refuse_tiles(config::Section& section) {
  for (const std::string_view key :
       {tiles_key.key(), tile_depth.key(), fill_key.key(), max_split.key(), cache_bandwidth.key(),
        unaligned_efficiency.key()}) {
    if (section.has(key)) {
      section.raw(key);
      section.error(key, "is not for a device with an 'array'");
    }
  }
}

void read_attention(config::Section& section, GemmSettings& settings) {
  settings.attention_memory_efficiency = settings.memory_efficiency;
  settings.attention_launch_overhead = settings.launch_overhead;
  if (section.has(attention_efficiency.key())) {
    settings.attention_efficiency = attention_efficiency.read(section, Fraction());
    settings.attention = {attention_rows.read(section), attention_fill.read(section),
                          attention_skip.read(section)};
    settings.attention_memory_efficiency =
        attention_memory_efficiency.read(section, settings.memory_efficiency);
    settings.attention_launch_overhead =
        attention_launch_overhead.read(section, settings.launch_overhead);
    if (settings.attention.rows == 0 && settings.attention.skip > 0) {
      section.error(attention_skip.key(), "is of no effect without 'attention_rows'");
    }
    return;
  }
  for (const std::string_view key :
       {attention_fill.key(), attention_rows.key(), attention_skip.key(),
        attention_memory_efficiency.key(), attention_launch_overhead.key()}) {
    if (section.has(key)) {
      section.raw(key);
      section.error(key, "is of no effect without 'attention_efficiency'");
    }
  }
}

std::unique_ptr<ComputeModel> make_gemm(config::Section& section) {
  GemmSettings settings;
  settings.device.units = units_key.read(section);
  if (section.has("array")) {
    refuse_tiles(section);
    settings.device.array = read_array(section);
    settings.device.macs_per_pe = machine::read_macs_per_pe(section);
  } else {
    if (!section.has(tiles_key.key())) {
      section.error("", "'gemm' needs the 'tiles' of a GPU or the 'array' of a systolic core");
    }
    read_tiles(section, settings);
    if (section.has("macs_per_pe")) {
      section.raw("macs_per_pe");
      section.error("macs_per_pe", "is of a device with an 'array'");
    }
  }
  settings.matrix_efficiency = matrix_efficiency.read(section);
  settings.eight_bit_efficiency = eight_bit_efficiency.read(section, settings.matrix_efficiency);
  settings.memory_efficiency = memory_efficiency.read(section);
  settings.launch_overhead = launch_overhead.read(section);
  read_attention(section, settings);
  settings.sustained_clock = sustained_clock.read(section);
  settings.collective_units = collective_units.read(section);
  if (settings.collective_units >= settings.device.units && settings.collective_units > 0) {
    section.error(collective_units.key(), "must leave one of the 'units' at least");
    settings.collective_units = 0;
  }
  settings.collective_accesses = collective_accesses.read(section);
  if (settings.collective_accesses > 0 && settings.collective_units == 0) {
    section.error(collective_accesses.key(), "is of 'collective_units'");
  }
  settings.persistent_products = persistent_products.read(section);
  if (settings.persistent_products && settings.collective_units == 0) {
    section.error(persistent_products.key(), "is of 'collective_units'");
  }
  settings.vector_peak = vector_peak_key().read(section);
  settings.kernel_gap = kernel_gap.read(section);
  settings.vectors =
      VectorKernels::read(section, settings.memory_efficiency, settings.launch_overhead);
  settings.host.issue = issue_key.read(section);
  settings.host.pass = issue_pass_key.read(section);
  return std::make_unique<GemmModel>(std::move(settings));
}

std::vector<ParameterInfo> parameters() {
  std::vector<ParameterInfo> all{
      units_key,
      tiles_key,
      tile_depth,
      fill_key,
      max_split,
      cache_bandwidth,
      array_parameter("none",
                      "instead of tiles: [rows, columns] of a weight-stationary systolic array"),
      machine::macs_per_pe_parameter(),
      matrix_efficiency,
      eight_bit_efficiency,
      unaligned_efficiency,
      memory_efficiency,
      attention_efficiency,
      attention_fill,
      attention_rows,
      attention_skip,
      attention_memory_efficiency,
      attention_launch_overhead,
      sustained_clock,
      collective_units,
      collective_accesses,
      persistent_products,
      vector_peak_key(),
      launch_overhead,
      kernel_gap,
      issue_key,
      issue_pass_key};
  const std::vector<ParameterInfo> vectors = vector_parameters();
  all.insert(all.end(), vectors.begin(), vectors.end());
  return all;
}

const Registration gemm_registration(
    compute_models(),
    {"gemm",
     "matrix products by their shape (waves of output tiles, or folds of a systolic array), vector "
     "work by its bytes, and a launch overhead",
     parameters()},
    make_gemm);

}  // namespace
}  // namespace tessera::compute
