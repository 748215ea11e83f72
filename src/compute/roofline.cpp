// The `roofline` compute model: an operation takes the longer of its arithmetic at the tile's rate
// and its traffic at the bandwidth of the memory that its operands are in. Williams, Waterman,
// Patterson: "Roofline", CACM 52(4), 2009, doi:10.1145/1498765.1498785.

#include "fixed_times.hpp"
#include "operation_time.hpp"
#include "tessera/compute/compute.hpp"

namespace tessera::compute {
namespace {

SimTime roofline_time(const machine::Machine& machine, const machine::Tile& tile,
                      const workload::Operation& operation) {
  const Bandwidth bandwidth = machine.operand_bandwidth(tile);
  return vector_time(operation, tile.rate(operation.data_type), bandwidth) +
         traffic_time(operation.added, bandwidth);
}

class RooflineModel final : public ComputeModel {
 public:
  std::unique_ptr<Compute> build(const ComputeSetup& setup) const override {
    return std::make_unique<FixedTimes>(*this, setup);
  }
  bool is_fixed() const override { return true; }
  SimTime duration(const machine::Machine& machine, const machine::Tile& tile,
                   const workload::Operation& operation) const override {
    return roofline_time(machine, tile, operation);
  }
  std::size_t predicted_bytes(std::uint64_t) const override { return 0; }
};

const Registration roofline_registration(
    compute_models(),
    {"roofline",
     "the longer of FLOPs / (peak * efficiency) and bytes / bandwidth of the operands' memory; "
     "rates are the tile's",
     {}},
    [](config::Section&) -> std::unique_ptr<ComputeModel> {
      return std::make_unique<RooflineModel>();
    });

}  // namespace
}  // namespace tessera::compute
