// The bursts that wait for a channel. All in one line; or behind a port that takes one at a time,
// from those that ask in turn, as the crossbar in front of a memory does.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tessera/core/linked_pool.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/memory/dram/spec.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::memory {

// Bursts of a piece that follow one another in the channel.
struct WaitingBursts {
  std::uint64_t index;  // of the first, among those of the channel
  std::uint32_t count;
  std::uint32_t piece;  // its place
  std::uint32_t write;
  std::uint32_t next;  // of the port
};

class DramPort {
 public:
  // `time`: that a burst takes; zero: no port.
  DramPort(Clock clock, SimTime time) : clock_(clock), time_(time), step_(in_cycles(time)) {}

  bool empty() const { return turn_ == none; }
  // At most one a cycle goes in.
  bool one_a_cycle() const { return step_.whole > 0; }
  // Runs of bursts that are to be written.
  std::uint64_t writes() const { return writes_; }
  // The cycle from which on the next may go in.
  Cycle opens() const { return opens_; }

  // `requester`: a small number.
  void add(std::uint32_t requester, const WaitingBursts& bursts) {
    const std::uint32_t number = line_of(requester);
    if (number >= lines_.size()) {
      lines_.resize(number + 1);
    }
    Line& line = lines_[number];
    writes_ += bursts.write;
    line.bursts += bursts.count;
    if (line.now.count == 0) {
      line.now = bursts;
      line.now.next = none;
      join(number);
      return;
    }
    const std::uint32_t place = pool_.keep(bursts);
    pool_[place].next = none;
    (line.now.next == none ? line.now.next : pool_[line.last].next) = place;
    line.last = place;
  }

  // Bursts in the line of that requester, with those that have gone in since the last mark.
  std::uint64_t waiting_since_mark(std::uint32_t requester) const {
    const std::uint32_t number = line_of(requester);
    if (number >= lines_.size()) {
      return 0;
    }
    const Line& line = lines_[number];
    return line.bursts + (line.mark == mark_ ? line.gone : 0);
  }
  void mark() { ++mark_; }

  // Whose first burst is next.
  const WaitingBursts& front() const { return lines_[turn_].now; }

  // It goes in at cycle `now`: after the cycle before, so that cycles of another clock do not slow
  // the port down.
  void pop(Cycle now) {
    const std::uint32_t number = turn_;
    Line& line = lines_[number];
    ++line.now.index;
    --line.bursts;
    line.gone = line.mark == mark_ ? line.gone + 1 : 1;
    line.mark = mark_;
    if (--line.now.count == 0) {
      writes_ -= line.now.write;
      if (line.now.next != none) {
        line.now = take(line.now.next);
      }
    }
    const bool empty = line.now.count == 0;
    if (empty || line.turn_after != none) {
      turn_ = line.turn_after;
      if (!empty) {
        join(number);
      }
    }
    if (time_ > SimTime::zero()) {
      pass_time(now);
    }
  }

  // At least the next `count` bursts, as visit(bursts), until it returns true; whether it did.
  template <class Visit>
  bool any_of_next(std::uint64_t count, Visit visit) const {
    std::uint64_t lines = 0;
    std::uint64_t least = count;
    for (std::uint32_t number = turn_; number != none; number = lines_[number].turn_after) {
      ++lines;
      least = std::min(least, lines_[number].bursts);
    }
    // Lines take turns; who has few leaves them to the others.
    const std::uint64_t of_each = lines == 0 ? 0 : (count + lines - 1) / lines;
    const std::uint64_t most = least < of_each ? count : of_each;
    for (std::uint32_t number = turn_; number != none; number = lines_[number].turn_after) {
      if (any_of_line(lines_[number], most, visit)) {
        return true;
      }
    }
    return false;
  }

  // Bursts of all lines: to read, to write.
  std::array<std::uint64_t, 2> waiting() const {
    std::array<std::uint64_t, 2> sums{};
    for (std::uint32_t number = turn_; number != none; number = lines_[number].turn_after) {
      any_of_line(lines_[number], lines_[number].bursts, [&](const WaitingBursts& bursts) {
        sums[bursts.write] += bursts.count;
        return false;
      });
    }
    return sums;
  }

  std::size_t resident_bytes() const {
    return pool_.resident_bytes() + lines_.capacity() * sizeof(Line);
  }

  void save(pdes::StateWriter& writer) const {
    writer.put_all(pool_.items());
    writer.put_all(lines_);
    writer.put(pool_.free());
    writer.put(turn_);
    writer.put(last_turn_);
    writer.put(writes_);
    writer.put(mark_);
    writer.put(free_at_);
    writer.put(free_cycle_);
    writer.put(opens_);
  }
  void restore(pdes::StateReader& reader) {
    auto kept = reader.get_all<WaitingBursts>();
    lines_ = reader.get_all<Line>();
    pool_ = {std::move(kept), reader.get<std::uint32_t>()};
    turn_ = reader.get<std::uint32_t>();
    last_turn_ = reader.get<std::uint32_t>();
    writes_ = reader.get<std::uint64_t>();
    mark_ = reader.get<std::uint64_t>();
    free_at_ = reader.get<SimTime>();
    free_cycle_ = reader.get<Cycles>();
    opens_ = reader.get<Cycle>();
  }

 private:
  static constexpr std::uint32_t none = LinkedPool<WaitingBursts>::none;

  struct Line {
    WaitingBursts now{0, 0, 0, 0, none};  // whose turn is next; none left: the line is empty
    std::uint32_t last = none;            // after these
    std::uint32_t turn_after = none;      // the line whose turn is after this one's
    std::uint64_t bursts = 0;             // in all
    std::uint64_t gone = 0;               // in since this mark
    std::uint64_t mark = 0;
  };

  std::uint32_t line_of(std::uint32_t requester) const {
    return time_ > SimTime::zero() ? requester : 0;
  }
  template <class Visit>
  bool any_of_line(const Line& line, std::uint64_t most, Visit visit) const {
    WaitingBursts bursts = line.now;
    for (std::uint64_t left = most;; left -= bursts.count, bursts = pool_[bursts.next]) {
      const bool last = bursts.count >= left || bursts.next == none;
      bursts.count = static_cast<std::uint32_t>(std::min<std::uint64_t>(bursts.count, left));
      if (visit(bursts)) {
        return true;
      }
      if (last) {
        return false;
      }
    }
  }

  WaitingBursts take(std::uint32_t place) {
    const WaitingBursts bursts = pool_.take(place);
    if (bursts.next != none) {  // long lines are not in any cache
      __builtin_prefetch(&pool_[bursts.next]);
    }
    return bursts;
  }

  // A time in cycles.
  struct Cycles {
    Cycle whole = 0;
    Cycle rest = 0;  // of 10^12
  };
  static constexpr Cycle second_ps = 1'000'000'000'000;

  Cycles in_cycles(SimTime time) const {
    const Wide product = static_cast<Wide>(time.ps()) * clock_.frequency_hz();
    return {static_cast<Cycle>(product / second_ps), static_cast<Cycle>(product % second_ps)};
  }

  // Of a burst that goes in at cycle `now`.
  void pass_time(Cycle now) {
    if (opens_ < now) {  // else the port was free only after the cycle before
      const SimTime since = clock_.time_of_cycle(static_cast<std::uint64_t>(now - 1));
      if (since > free_at_) {
        free_at_ = since;
        free_cycle_ = in_cycles(since);
      }
    }
    free_at_ = free_at_ + time_;
    free_cycle_.whole += step_.whole;
    free_cycle_.rest += step_.rest;
    if (free_cycle_.rest >= second_ps) {
      free_cycle_.rest -= second_ps;
      ++free_cycle_.whole;
    }
    opens_ = free_cycle_.whole + (free_cycle_.rest > 0 ? 1 : 0);
  }

  // At the end of the turns.
  void join(std::uint32_t number) {
    lines_[number].turn_after = none;
    (turn_ == none ? turn_ : lines_[last_turn_].turn_after) = number;
    last_turn_ = number;
  }

  Clock clock_;
  SimTime time_;
  Cycles step_;  // the same
  SimTime free_at_;
  Cycles free_cycle_;  // the same
  Cycle opens_ = 0;
  LinkedPool<WaitingBursts> pool_;  // of all lines
  std::vector<Line> lines_;         // [requesters]
  std::uint32_t turn_ = none;       // of lines with bursts
  std::uint32_t last_turn_ = none;
  std::uint64_t writes_ = 0;  // runs
  std::uint64_t mark_ = 0;
};

}  // namespace tessera::memory
