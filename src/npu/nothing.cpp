// An operator without tiles: it is over when it begins.

#include "tessera/core/error.hpp"
#include "tessera/npu/specs.hpp"

namespace tessera::npu {
namespace {

class Nothing final : public TiledOperator {
 public:
  using TiledOperator::TiledOperator;
  const std::vector<Operand>& operands() const override { return operands_; }
  std::array<std::uint64_t, output_dimensions> output() const override { return {}; }
  std::uint64_t groups() const override { return 0; }
  VectorWork vector_passes() const override { return {}; }
  OperatorTile tile(std::uint64_t, std::uint64_t) const override { return none(); }
  TileProgram program(std::uint64_t) const override {
    none();
    return {};
  }

 private:
  static OperatorTile none() { throw InternalError("a tile of an operator without tiles"); }

  std::vector<Operand> operands_;
};

}  // namespace

std::unique_ptr<TiledOperator> lower_nothing(const Target& target) {
  return std::make_unique<Nothing>(target);
}

}  // namespace tessera::npu
