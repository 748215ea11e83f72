// One DRAM channel with its controller, cycle by cycle but event-driven: it is asked only for the
// cycles in which something can happen, and an idle channel asks for none.
//
// In a cycle, first requests are submitted, then `tick` issues a command or two and passes what is
// due on. Refreshes of idle ranks are caught up with at the next request, as if they had been
// issued on time.
//
// Schedulers, by name:
//   oldest-ready  FR-FCFS over one queue of reads and one of writes: the oldest request whose next
//                 command may issue now. A request whose row was activated for it goes before all
//                 others, and its row stays open until then. Writing begins when `write_high`
//                 writes wait or no read does, and ends when at most `write_low` wait and a read
//                 does. All ranks refresh at once, before other requests. A write is done when its
//                 command issues. After the generic controller of Ramulator 2 (H. Luo et al., IEEE
//                 CAL 2023, doi:10.1109/LCA.2023.3333759). With two commands a cycle (HBM) the
//                 oldest ready one of rows and the oldest ready one of columns issue together, and
//                 no row is closed that an older request still hits.
//   bank-queues   requests move, one a cycle, from a queue of reads or of writes into a queue of
//                 their bank; banks take turns. A bank issues its first request whose command is
//                 ready; the first closes the row when no other waits for it, or after four column
//                 commands. Writes are drained, all at once, when `write_high` wait, or
//                 `write_low` while the queues of all banks are empty, or any after 1000 idle
//                 cycles. Ranks refresh in turn. Reads of the same burst
//                 are merged, and writes are done when submitted. After DRAMsim3 (S. Li et al.,
//                 IEEE CAL 2020, doi:10.1109/LCA.2020.2973991).
// In both a read of a burst whose write still waits gets its data at once.
//
// Who has many bursts for a channel lets it `run`: it takes them from a port of the memory's own
// (src/memory/dram/port.hpp), as many cycles together as are due, with the same results as cycle by
// cycle.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "tessera/memory/dram/address.hpp"
#include "tessera/memory/dram/spec.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::memory {

inline constexpr Cycle no_cycle = std::numeric_limits<Cycle>::max();

struct DramRequest {
  std::uint64_t id = 0;     // the caller's
  std::uint64_t burst = 0;  // number of the burst: same number, same data
  std::uint32_t bank = 0;
  std::uint32_t row = 0;
  bool write = false;
};

// The data of a read is there, or a write is done, at the end of cycle `finish` (which may be to
// come), as the channel knows in cycle `known`.
struct DramDone {
  std::uint64_t id = 0;
  Cycle finish = 0;
  Cycle known = 0;
};

// What a channel has done.
struct DramCounts {
  std::uint64_t reads = 0;      // column commands
  std::uint64_t writes = 0;     // the same
  std::uint64_t hits = 0;       // of these: in a row that was open for another one
  std::uint64_t misses = 0;     // the bank was closed
  std::uint64_t conflicts = 0;  // another row was open
  std::uint64_t refreshes = 0;
  // Requests without a command of their own: reads of what a write holds or another read gets, and
  // writes over one that waits.
  std::uint64_t answered_reads = 0;
  std::uint64_t answered_writes = 0;

  DramCounts& operator+=(const DramCounts& more) {
    reads += more.reads;
    writes += more.writes;
    hits += more.hits;
    misses += more.misses;
    conflicts += more.conflicts;
    refreshes += more.refreshes;
    answered_reads += more.answered_reads;
    answered_writes += more.answered_writes;
    return *this;
  }
};

class DramPort;

class DramChannel {
 public:
  virtual ~DramChannel() = default;

  virtual bool accepts(bool write) const = 0;
  // In or after the cycle of the last tick; `accepts` must hold. What is done at once goes to
  // `done`.
  virtual void submit(Cycle now, const DramRequest& request, std::vector<DramDone>& done) = 0;
  // The next cycle in which to call `tick`, at once after something was submitted; no_cycle: not
  // before that.
  virtual Cycle next() const = 0;
  // Returns next().
  virtual Cycle tick(Cycle now, std::vector<DramDone>& done) = 0;

  // All cycles from `from` to before `until` with what the port has; an id is the burst's piece.
  // Returns the next cycle in which to go on, or no_cycle.
  virtual Cycle run(Cycle from, Cycle until, DramPort& port, const DramAddressMap& map,
                    std::vector<DramDone>& done) = 0;
  // From cycle `from` on nothing finishes before the end of this one, unless more comes to the
  // port.
  virtual Cycle first_finish(Cycle from, const DramPort& port) const = 0;

  // Requests that wait for a command: reads, writes.
  virtual std::array<std::size_t, 2> waiting() const = 0;
  virtual const DramCounts& counts() const = 0;
  virtual std::size_t resident_bytes() const = 0;
  virtual void save(pdes::StateWriter& writer) const = 0;
  virtual void restore(pdes::StateReader& reader) = 0;
};

using DramSchedulerMaker = std::function<std::unique_ptr<DramChannel>(const DramSpec&)>;
Registry<DramSchedulerMaker>& dram_schedulers();

std::unique_ptr<DramChannel> make_dram_channel(const DramSpec& spec);

}  // namespace tessera::memory
