// An operator cut into tiles for a number of cores. Nothing is stored for a tile: the operator
// computes where it begins and which program it runs when a core takes it.
//
// Tiles are numbered by group and step. The tiles of a group add to the same part of the output,
// step by step, in one half of the accumulator of one core; the last of them stores it. Group g is
// work of core g modulo the number of cores.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"
#include "tessera/npu/core/core.hpp"
#include "tessera/npu/core/program.hpp"
#include "tessera/npu/vector_work.hpp"
#include "tessera/workload/operation.hpp"

namespace tessera::npu {

struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t size() const { return end - begin; }
  friend bool operator==(const Range&, const Range&) = default;
};

inline constexpr std::size_t most_operands = 8;
inline constexpr std::size_t output_dimensions = 4;

struct OperatorTile {
  std::uint64_t shape = 0;                             // of its program
  std::array<std::uint64_t, most_operands> origins{};  // [B] where it begins in each operand
  std::array<Range, output_dimensions> output{};       // what of the output it makes or adds to
  Range depth;                                         // what of the sums it adds
};

struct Operand {
  std::string name;
  Bytes bytes;
};

// Immutable, and refers to its core.
class TiledOperator {
 public:
  explicit TiledOperator(const Target& target) : target_(target) {}
  virtual ~TiledOperator() = default;

  const CoreConfig& core() const { return target_.core; }
  const Target& target() const { return target_; }
  virtual const std::vector<Operand>& operands() const = 0;
  // Of operands that cores have to read or write, each byte once.
  virtual Bytes least_traffic() const;
  // Extents of the output and of the sums, in the terms of OperatorTile.
  virtual std::array<std::uint64_t, output_dimensions> output() const = 0;
  virtual std::uint64_t depth() const { return 1; }
  virtual std::uint64_t macs() const { return 0; }
  // FLOPs of all elements beside those sums (VectorWork::flops).
  virtual double vector_flops() const { return 0; }
  // Passes of the vector unit that its programs have, each kind of them once at least; or more.
  virtual VectorWork vector_passes() const { return any_vector_work(); }
  virtual std::uint64_t groups() const = 0;
  virtual std::uint64_t steps() const { return 1; }
  virtual OperatorTile tile(std::uint64_t group, std::uint64_t step) const = 0;
  virtual TileProgram program(std::uint64_t shape) const = 0;

 private:
  Target target_;
};

// Kinds of operators by name: attention, concat, convolution, elementwise, embedding, gemm, norm,
// pool, reshape, softmax, transpose. A maker reads the operator's own keys and cuts it; null after
// complaints.
using OperatorMaker =
    std::function<std::unique_ptr<TiledOperator>(config::Section&, const Target& target)>;
Registry<OperatorMaker>& operators();

// An operation of a program: a product, or vector work by its FLOPs and bytes.
std::unique_ptr<TiledOperator> lower(const workload::Operation& operation, const Target& target);

}  // namespace tessera::npu
