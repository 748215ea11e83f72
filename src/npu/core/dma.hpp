// The DMA engine of a core: a queue of blocks to move, so many accesses under way at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "tessera/npu/core/core_engine.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::npu {

// One access to memory.
struct Access {
  std::uint64_t offset = 0;  // [B] in the operand
  std::uint64_t bytes = 0;
  std::uint16_t tag = 0;  // unlike all others under way
};

class Dma {
 public:
  // Tags from here on, so that they differ from those of programs.
  static constexpr std::uint16_t first_tag = 0x8000;

  // Blocks are given in the order of their cycles.
  void add(Cycle cycle, const Transfer& transfer);
  // When the next block begins; unknown_cycle: there is none.
  Cycle next_begin() const;
  // The next access of the block that is first in the queue, if so many may be under way; with
  // the block.
  std::optional<std::pair<Access, const Transfer*>> next(const DmaConfig& config);
  // An access is over. The block, if all of it has been moved.
  std::optional<Transfer> end(std::uint16_t tag);

  bool is_busy() const { return open_ > 0; }
  std::uint32_t open() const { return open_; }  // accesses under way

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  std::size_t resident_bytes() const;

 private:
  struct Block {
    Cycle cycle = 0;
    Transfer transfer;
    std::uint64_t row = 0;
    std::uint64_t in_row = 0;  // [B] asked for
    std::uint32_t open = 0;
  };

  std::vector<Block> blocks_;
  std::vector<std::uint32_t> free_blocks_;
  std::deque<std::uint32_t> queue_;      // of blocks not wholly asked for
  std::vector<std::uint32_t> block_of_;  // [tags]
  std::vector<std::uint16_t> free_tags_;
  std::uint32_t open_ = 0;
};

}  // namespace tessera::npu
