// The bursts that wait for a channel. All in one line; or behind a port that takes one at a time,
// from those that ask in turn, as the crossbar in front of a memory does.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"
#include "tessera/memory/dram_spec.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::memory {

struct WaitingBurst {
  std::uint32_t place;  // of its piece
  std::uint32_t bank;
  std::uint64_t number;
  std::uint32_t row;
  std::uint32_t unused;
};

class DramPort {
 public:
  // `time`: that a burst takes; zero: no port.
  explicit DramPort(SimTime time) : time_(time) {}

  bool empty() const { return turns_.empty(); }
  // The cycle from which on the next may go in.
  Cycle opens() const { return opens_; }

  void add(EntityId requester, const WaitingBurst& burst) {
    const std::uint32_t line = time_ > SimTime::zero() ? requester.value() : 0;
    std::deque<WaitingBurst>& waiting = lines_[line];
    if (waiting.empty()) {
      turns_.push_back(line);
    }
    waiting.push_back(burst);
  }

  const WaitingBurst& front() const { return lines_.find(turns_.front())->second.front(); }

  // It goes in after `since`, the cycle before, so that cycles of another clock do not slow the
  // port down. The cycle of a time is the first from there on.
  template <class CycleOf>
  void pop(SimTime since, CycleOf cycle_of) {
    const std::uint32_t line = turns_.front();
    std::deque<WaitingBurst>& waiting = lines_.find(line)->second;
    waiting.pop_front();
    if (time_ == SimTime::zero()) {
      if (waiting.empty()) {
        turns_.pop_front();
      }
      return;
    }
    turns_.pop_front();
    if (!waiting.empty()) {
      turns_.push_back(line);
    }
    free_ = std::max(free_, since) + time_;
    opens_ = cycle_of(free_);
  }

  std::size_t resident_bytes() const {
    std::size_t bursts = 0;
    for (const auto& [line, waiting] : lines_) {
      bursts += waiting.size();
    }
    return bursts * sizeof(WaitingBurst) + turns_.size() * sizeof(std::uint32_t);
  }

  void save(pdes::StateWriter& writer) const {
    writer.put_all(std::vector<std::uint32_t>(turns_.begin(), turns_.end()));
    for (const std::uint32_t line : turns_) {
      const std::deque<WaitingBurst>& waiting = lines_.find(line)->second;
      writer.put_all(std::vector<WaitingBurst>(waiting.begin(), waiting.end()));
    }
    writer.put(free_);
    writer.put(opens_);
  }
  void restore(pdes::StateReader& reader) {
    const auto turns = reader.get_all<std::uint32_t>();
    turns_.assign(turns.begin(), turns.end());
    lines_.clear();
    for (const std::uint32_t line : turns_) {
      const auto waiting = reader.get_all<WaitingBurst>();
      lines_[line].assign(waiting.begin(), waiting.end());
    }
    free_ = reader.get<SimTime>();
    opens_ = reader.get<Cycle>();
  }

 private:
  SimTime time_;
  SimTime free_;
  Cycle opens_ = 0;
  std::map<std::uint32_t, std::deque<WaitingBurst>> lines_;  // [requesters]
  std::deque<std::uint32_t> turns_;                          // of lines with bursts
};

}  // namespace tessera::memory
