// Where a core's operators come from: a list that is known at the start, or descriptions in numbers
// of operators that are made when they are met.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tessera/npu/tiled_operator.hpp"

namespace tessera::npu {

class OperatorSource {
 public:
  virtual ~OperatorSource() = default;
  // Operators of one kind differ in nothing but where their operands are.
  virtual std::uint64_t kind_of(std::uint64_t number) const { return number; }
  // Cut for so many cores. Throws InternalError for a kind that is not there.
  virtual std::shared_ptr<const TiledOperator> make(std::uint64_t kind,
                                                    std::uint64_t cores) const = 0;
  // Where an operand begins in memory, and where all of them end [B].
  virtual std::uint64_t operand_begin(std::uint64_t number, std::uint8_t operand) const = 0;
  virtual std::uint64_t memory_end() const = 0;
  // For messages.
  virtual std::string name_of(std::uint64_t number) const {
    return "operator " + std::to_string(number);
  }
};

// The operators of a list by their places, cut for the cores that they are cut for. Operands lie
// one after the other from the first address on, those of each operator, each at a multiple of
// 4 KiB.
class ListedOperators final : public OperatorSource {
 public:
  // They must outlive it. `names` are as many, or none.
  explicit ListedOperators(std::vector<const TiledOperator*> operators,
                           std::vector<std::string> names = {}, std::uint64_t first_address = 0);
  std::shared_ptr<const TiledOperator> make(std::uint64_t kind, std::uint64_t cores) const override;
  std::uint64_t operand_begin(std::uint64_t number, std::uint8_t operand) const override {
    return begins_[number][operand];
  }
  std::uint64_t memory_end() const override { return end_; }
  std::string name_of(std::uint64_t number) const override {
    return names_.empty() ? OperatorSource::name_of(number) : names_[number];
  }

 private:
  std::vector<const TiledOperator*> operators_;
  std::vector<std::string> names_;
  std::vector<std::array<std::uint64_t, most_operands>> begins_;
  std::uint64_t end_ = 0;
};

// Puts the operands of an operator at multiples of 4 KiB from `end` on, and moves `end` behind
// them.
std::array<std::uint64_t, most_operands> place_operands(const TiledOperator& op,
                                                        std::uint64_t& end);

}  // namespace tessera::npu
