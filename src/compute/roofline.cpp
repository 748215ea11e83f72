// The `roofline` compute model: an operator takes the longer of its arithmetic at the tile's rate
// and its traffic at the bandwidth of the tile's SRAM. Williams, Waterman, Patterson: "Roofline",
// CACM 52(4), 2009, doi:10.1145/1498765.1498785.

#include <algorithm>
#include <map>

#include "tessera/compute/compute.hpp"
#include "tessera/compute/messages.hpp"

namespace tessera::compute {
namespace {

SimTime roofline_time(FlopRate rate, Bandwidth sram, Flops flops, Bytes bytes) {
  const SimTime arithmetic = execution_time(flops, rate);
  const bool limited = sram.bytes_per_second() > 0;
  return limited ? std::max(arithmetic, serialization_time(bytes, sram)) : arithmetic;
}

// Keeps no state: the program executes one operator at a time.
class Roofline final : public pdes::Component {
 public:
  explicit Roofline(const machine::Tile& tile) : sram_(tile.sram_bandwidth) {
    for (const auto& [type, peak] : tile.peak) {
      rates_[type] = tile.rate(type);
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    const auto request = event.as<ExecuteRequest>();
    const SimTime duration = roofline_time(rates_.at(request.data_type), sram_,
                                           Flops(request.flops), Bytes(request.sram_bytes));
    context.send_self(duration, request.done, std::uint32_t{0}, event.tag);
  }
  void save(std::uint32_t, pdes::StateWriter&) const override {}
  void restore(std::uint32_t, pdes::StateReader&) override {}

 private:
  std::map<DataType, FlopRate> rates_;
  Bandwidth sram_;
};

class RooflineModel final : public ComputeModel {
 public:
  std::unique_ptr<pdes::Component> build(const ComputeSetup& setup) const override {
    return std::make_unique<Roofline>(setup.machine.tile);
  }
  SimTime duration(const machine::Machine& machine, Flops flops, Bytes sram_bytes,
                   DataType data_type) const override {
    return roofline_time(machine.tile.rate(data_type), machine.tile.sram_bandwidth, flops,
                         sram_bytes);
  }
  std::size_t predicted_bytes(std::uint64_t) const override { return 0; }
};

const Registration registration(
    compute_models(),
    {"roofline",
     "the longer of FLOPs / (peak * efficiency) and SRAM bytes / SRAM bandwidth; rates are the "
     "tile's",
     {}},
    [](config::Section&) -> std::unique_ptr<ComputeModel> {
      return std::make_unique<RooflineModel>();
    });

}  // namespace
}  // namespace tessera::compute
