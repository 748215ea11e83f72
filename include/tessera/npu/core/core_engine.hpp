// One core in motion, in cycles of its clock, apart from any simulation: it says what it wants
// moved and when, and is told what has arrived.
//
// In-order issue, one instruction a cycle, from two tiles: it stays with a tile until that has to
// wait, then goes on with the other (ONNXim). Loads never wait: a tile that is admitted has its
// halves of the memories. The array and the vector unit take instructions when their operands are
// there, stores when what they store is. Since all of that but the arrival of data is known ahead,
// the core runs on by itself until it depends on data that is not there, and costs an event for
// each access, not for each instruction.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "tessera/npu/core/program.hpp"
#include "tessera/npu/core/program_store.hpp"
#include "tessera/npu/operator_source.hpp"
#include "tessera/npu/tiled_operator.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::npu {

using Cycle = std::uint64_t;
inline constexpr Cycle unknown_cycle = std::numeric_limits<Cycle>::max();

// What of an operator a core does, and for whom.
struct Share {
  std::uint64_t number = 0;  // of the operator
  std::uint64_t group = 0;   // next
  std::uint64_t stride = 1;  // the number of cores that it is cut for
  std::uint64_t groups = 0;  // of the operator, and the steps of each: filled in by the core
  std::uint64_t steps = 1;
  std::uint64_t step = 0;     // next
  std::uint64_t running = 0;  // tiles taken and not over
  Cycle end = 0;              // of those that are over
  std::uint64_t word = 0;     // of who asked, handed back
  std::uint8_t priority =
      0;  // tiles of the highest one go first; of equal ones, of the first share
  bool reported = false;
};

// A block to move; `slot` and `buffer` are handed back when it has been moved.
struct Transfer {
  std::uint64_t number = 0;  // of the operator
  std::uint8_t operand = 0;
  std::uint8_t slot = 0;
  bool store = false;
  BufferId buffer;
  std::uint64_t origin = 0;
  Region region;
};

// What one core did up to now, or will have done when what it has begun is over.
struct CoreUse {
  std::uint64_t matrix_busy = 0;  // cycles in which a block is in the array
  // Sum over blocks of floor(MACs / those of the array in a cycle).
  std::uint64_t matrix_active = 0;
  std::uint64_t vector_busy = 0;  // cycles
  std::uint64_t bubbles = 0;      // cycles that the array waited between two blocks of a tile
  std::uint64_t macs = 0;
  std::uint64_t loaded = 0;  // [B]
  std::uint64_t stored = 0;  // [B]
  std::uint64_t tiles = 0;
  std::uint64_t instructions = 0;
};

class CoreEngine {
 public:
  // Called while the core runs, for what happens at `cycle`, which may lie ahead.
  struct Surroundings {
    std::function<void(Cycle cycle, const Transfer&)> move;
    std::function<void(Cycle cycle, const Share&)> done;
  };

  CoreEngine(const CoreConfig& core, ProgramStore& programs)
      : core_(&core), programs_(&programs), ends_(core.queue) {}

  void add(const Share& share);
  void moved(Cycle now, const Transfer& transfer);
  // Goes on from `now` as far as it can. The result: when to call again at the latest, even if
  // nothing was moved; unknown_cycle: no need to.
  Cycle run(Cycle now, const Surroundings& surroundings);

  // Shares that have been added and are not over.
  struct Unfinished {
    std::uint64_t number = 0;  // of the operator
    std::string where;         // what it waits for, for people
  };
  std::vector<Unfinished> unfinished() const;

  const CoreUse& use() const { return use_; }
  // Cycles beyond `now` in which the array and the vector unit are booked already.
  Cycle matrix_booked_until() const { return array_.last_finish; }
  Cycle vector_booked_until() const { return vector_free_; }

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  std::size_t resident_bytes() const;

 private:
  // When a buffer holds what it should.
  struct Content {
    Cycle ready = 0;
    std::uint32_t awaited = 0;  // loads under way
  };
  struct Resident {
    bool taken = false;
    std::uint8_t half = 0;     // of the accumulator
    std::uint32_t share = 0;   // serial number
    std::uint64_t number = 0;  // of the operator
    std::uint64_t stride = 1;
    std::uint32_t cursor = 0;
    std::uint32_t loads = 0;  // under way
    std::uint32_t stores = 0;
    std::uint64_t group = 0;
    std::uint64_t step = 0;
    std::uint64_t order = 0;  // of tiles of the core
    Cycle end = 0;            // of what it computes, and of its last issue
    std::shared_ptr<const TileProgram> program;
    OperatorTile tile;
    std::vector<Content> contents;
  };
  struct Array {
    Cycle weights_start = 0;  // of the first block with the last weights
    Cycle last_start = 0;
    Cycle last_finish = 0;
    std::uint64_t last_cycles = 0;
  };
  // When a tile can issue its next instruction: unknown if that takes data that is not there, or
  // another tile.
  struct Wait {
    Cycle until = 0;
    bool for_data = false;
  };

  Share* share_of(std::uint32_t serial) { return &queue_[serial - first_serial_]; }
  Share* next_share();
  void admit();
  void take_tile(std::uint8_t slot, Share& share);
  bool is_exhausted(const Resident& resident) const {
    return resident.cursor == resident.program->code.size();
  }
  bool waits_for_accesses(const Resident& resident) const {
    return resident.loads > 0 || (core_->waits_for_stores && resident.stores > 0);
  }
  // Ends tiles that are over, and tells when the next one will be.
  Cycle retire(Cycle cycle, const Surroundings& surroundings);
  void report_shares(Cycle cycle, const Surroundings& surroundings);

  Wait wait_of(std::uint8_t slot, Cycle cycle) const;
  void wait_for(const Resident& resident, BufferId buffer, Wait& wait) const;
  void issue(std::uint8_t slot, Cycle cycle, const Surroundings& surroundings);
  void issue_gemm(Resident& resident, const CoreInstruction& instruction, Cycle cycle);
  void issue_vector(Resident& resident, const CoreInstruction& instruction, Cycle cycle);
  void issue_move(std::uint8_t slot, const CoreInstruction& instruction, Cycle cycle,
                  const Surroundings& surroundings);
  const Content& content(const Resident& resident, BufferId buffer) const;
  Content& content(Resident& resident, BufferId buffer);
  void bind(Resident& resident);

  const CoreConfig* core_;
  ProgramStore* programs_;
  std::vector<Share> queue_;        // those taken from, and those that wait
  std::uint32_t first_serial_ = 0;  // of the front
  std::array<Resident, 2> residents_;
  std::array<std::vector<Content>, 2> sums_;  // the accumulator's halves
  bool some_may_be_over_ = false;             // of the queue
  std::uint8_t favoured_ = 0;
  std::uint8_t half_ = 0;
  std::uint64_t tiles_taken_ = 0;
  Cycle next_issue_ = 0;
  Array array_;
  std::vector<Cycle> ends_;  // of the last blocks issued, a ring as long as the queue
  std::uint64_t blocks_ = 0;
  Cycle vector_free_ = 0;
  CoreUse use_;
};

}  // namespace tessera::npu
