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

namespace tessera::compute {
namespace {

struct Settings {
  MatrixDevice device;
  Fraction matrix_efficiency;
  Fraction memory_efficiency;
  Fraction vector_memory_efficiency;
  FlopRate vector_peak;  // 0: the tile's of the data type
  SimTime launch_overhead;
  SimTime issue;
};

class GemmModel final : public ComputeModel {
 public:
  explicit GemmModel(Settings settings) : settings_(std::move(settings)) {}

  std::unique_ptr<Compute> build(const ComputeSetup& setup) const override {
    return std::make_unique<FixedTimes>(*this, setup, settings_.issue);
  }

  bool is_fixed() const override { return true; }
  bool uses_shapes() const override { return true; }
  bool has_hosts() const override { return settings_.issue > SimTime::zero(); }
  SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                   const workload::Operation& operation) const override {
    if (operation.flops == Flops() && operation.bytes == Bytes()) {
      return SimTime::zero();  // nothing to launch
    }
    const FlopRate peak = tile.rate(operation.data_type);
    const Bandwidth operands = machine.operand_bandwidth(tile);
    const Bandwidth memory = scaled(operands, settings_.memory_efficiency);
    const Bandwidth of_vectors = scaled(operands, settings_.vector_memory_efficiency);
    const FlopRate vector_peak = settings_.vector_peak > FlopRate() ? settings_.vector_peak : peak;
    const SimTime busy =
        operation.is_matrix_product()
            ? matrix_time(settings_.device, {scaled(peak, settings_.matrix_efficiency), memory},
                          operation)
            : vector_time(operation, vector_peak, of_vectors);
    return settings_.launch_overhead + busy + traffic_time(operation.added, memory);
  }

  std::size_t predicted_bytes(std::uint64_t) const override { return 0; }

 private:
  Settings settings_;
};

using config::between;
using config::Key;

constexpr std::uint64_t most = 1 << 20;

const Key<std::uint64_t> units_key{"units", 1,
                                   "that work side by side and share the peak: SMs of a GPU",
                                   between<std::uint64_t>(1, most)};
const config::OtherKey tiles_key{
    "tiles", "list of text", "none",
    "output tiles of one unit, e.g. [256x128, 128x128]; the fastest is taken"};
const Key<std::uint64_t> tile_depth{"tile_depth", 1,
                                    "tiles: the depth is rounded up to steps of so many elements",
                                    between<std::uint64_t>(1, most)};
const Key<std::uint64_t> fill_key{"fill", 0,
                                  "tiles: start of a tile, as long as so many elements of depth",
                                  between<std::uint64_t>(0, most)};
const Key<std::uint64_t> max_split{"max_split", 1,
                                   "tiles: parts that the depth may be cut in where tiles are few",
                                   between<std::uint64_t>(1, most)};
const Key<Bandwidth> cache_bandwidth{
    "cache_bandwidth", Bandwidth(),
    "tiles: of the cache they read from, all units together; 0 B/s: never the limit"};

constexpr Fraction some = Fraction::millionths(1);
const Key<Fraction> matrix_efficiency{"matrix_efficiency", Fraction(),
                                      "share of the peak that a full wave of products reaches",
                                      config::at_least(some)};
const Key<Fraction> memory_efficiency{"memory_efficiency", Fraction(),
                                      "share of the operands' memory bandwidth that is reached",
                                      config::at_least(some)};
const config::DerivedKey<Fraction> vector_memory_efficiency{
    "vector_memory_efficiency", "memory_efficiency",
    "the same of work without a product, whose kernels reach less: norms, activations, softmax",
    config::at_least(some)};
const Key<SimTime> launch_overhead{"launch_overhead", SimTime::zero(), "time before each operation",
                                   config::at_least(SimTime::zero())};
const Key<SimTime> issue_key{
    "issue", SimTime::zero(),
    "time of the host to issue an operation or a collective, while the device is at those before",
    config::at_least(SimTime::zero())};

void read_tiles(config::Section& section, MatrixDevice& device) {
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
}

void refuse_tiles(config::Section& section) {
  for (const std::string_view key : {tiles_key.key(), tile_depth.key(), fill_key.key(),
                                     max_split.key(), cache_bandwidth.key()}) {
    if (section.has(key)) {
      section.raw(key);
      section.error(key, "is not for a device with an 'array'");
    }
  }
}

std::unique_ptr<ComputeModel> make(config::Section& section) {
  Settings settings;
  settings.device.units = units_key.read(section);
  if (section.has("array")) {
    refuse_tiles(section);
    settings.device.array = read_array(section);
    settings.device.macs_per_pe = machine::read_macs_per_pe(section);
  } else {
    if (!section.has(tiles_key.key())) {
      section.error("", "'gemm' needs the 'tiles' of a GPU or the 'array' of a systolic core");
    }
    read_tiles(section, settings.device);
    if (section.has("macs_per_pe")) {
      section.raw("macs_per_pe");
      section.error("macs_per_pe", "is of a device with an 'array'");
    }
  }
  settings.matrix_efficiency = matrix_efficiency.read(section);
  settings.memory_efficiency = memory_efficiency.read(section);
  settings.vector_memory_efficiency =
      vector_memory_efficiency.read(section, settings.memory_efficiency);
  settings.vector_peak = vector_peak_key().read(section);
  settings.launch_overhead = launch_overhead.read(section);
  settings.issue = issue_key.read(section);
  return std::make_unique<GemmModel>(std::move(settings));
}

std::vector<ParameterInfo> parameters() {
  return {units_key,
          tiles_key,
          tile_depth,
          fill_key,
          max_split,
          cache_bandwidth,
          array_parameter(
              "none", "instead of tiles: [rows, columns] of a weight-stationary systolic array"),
          machine::macs_per_pe_parameter(),
          matrix_efficiency,
          memory_efficiency,
          vector_memory_efficiency,
          vector_peak_key(),
          launch_overhead,
          issue_key};
}

const Registration registration(
    compute_models(),
    {"gemm",
     "matrix products by their shape (waves of output tiles, or folds of a systolic array), vector "
     "work by its bytes, and a launch overhead",
     parameters()},
    make);

}  // namespace
}  // namespace tessera::compute
