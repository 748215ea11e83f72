#include "tessera/npu/operator_source.hpp"

#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::npu {

std::array<std::uint64_t, most_operands> place_operands(const TiledOperator& op,
                                                        std::uint64_t& end) {
  constexpr std::uint64_t unit = 4096;
  std::array<std::uint64_t, most_operands> begins{};
  std::size_t operand = 0;
  for (const Operand& one : op.operands()) {
    begins[operand++] = end;
    end += (one.bytes.count() + unit - 1) / unit * unit;
  }
  return begins;
}

ListedOperators::ListedOperators(std::vector<const TiledOperator*> operators,
                                 std::vector<std::string> names, std::uint64_t first_address)
    : operators_(std::move(operators)), names_(std::move(names)), end_(first_address) {
  for (const TiledOperator* op : operators_) {
    begins_.push_back(place_operands(*op, end_));
  }
}

std::shared_ptr<const TiledOperator> ListedOperators::make(std::uint64_t kind,
                                                           std::uint64_t /*cores*/) const {
  ensure(kind < operators_.size(), "a core is asked for an operator that is not there");
  return {std::shared_ptr<void>(), operators_[kind]};  // owned elsewhere
}

}  // namespace tessera::npu
