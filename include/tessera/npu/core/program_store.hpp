// Operators and the programs of their tiles, each made once and shared by all cores of a rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tessera/npu/core/program.hpp"
#include "tessera/npu/operator_source.hpp"

namespace tessera::npu {

class ProgramStore {
 public:
  explicit ProgramStore(std::shared_ptr<const OperatorSource> source)
      : source_(std::move(source)) {}
  explicit ProgramStore(std::vector<const TiledOperator*> operators)
      : source_(std::make_shared<ListedOperators>(std::move(operators))) {}

  const OperatorSource& source() const { return *source_; }
  const TiledOperator& operator_at(std::uint64_t number, std::uint64_t cores) {
    return *entry(number, cores).op;
  }
  // Programs that nobody holds are forgotten when all of them take more than `most_bytes`.
  std::shared_ptr<const TileProgram> program(std::uint64_t number, std::uint64_t cores,
                                             std::uint64_t shape);
  std::size_t resident_bytes() const { return bytes_; }

 private:
  static constexpr std::size_t most_bytes = std::size_t{256} << 20U;

  struct Entry {
    std::shared_ptr<const TiledOperator> op;
    std::unordered_map<std::uint64_t, std::shared_ptr<const TileProgram>> programs;
  };
  Entry& entry(std::uint64_t number, std::uint64_t cores);
  void forget();

  std::shared_ptr<const OperatorSource> source_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Entry> entries_;  // by kind and cores
  std::size_t bytes_ = 0;
};

}  // namespace tessera::npu
