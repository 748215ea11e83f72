// A memory device that caches are kept coherent of: what a piece of an access makes it do, and what
// it waits for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/memory/coherent/coherence.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::memory {

// A piece that an accelerator asks for.
struct CoherentRequest {
  EntityId npu;
  std::uint32_t reads = 0;  // lines, as the next
  std::uint32_t writes = 0;
  std::uint32_t tag = 0;  // the accelerator's
};

// What it makes the device do, in lines.
struct CoherentSteps {
  Lines now;                       // of the channel
  Lines later;                     // when owners have answered
  std::uint64_t forwarded = 0;     // to the accelerator, of data that owners have sent
  std::uint64_t written_back = 0;  // the same, and of lines that the snoop filter has lost
  std::uint64_t messages = 0;      // to owners
  std::uint64_t with_data = 0;     // of their answers
};

// Shares of lines, exact over all of a device.
class CoherentShares {
 public:
  CoherentSteps steps_of(const CoherenceOptions& options, const Lines& lines);

 private:
  enum Kind : std::uint8_t { dirty_reads, dirty_writes, invalidated, lost, lost_dirty, kinds };
  std::uint64_t take(Kind kind, std::uint64_t lines, std::uint64_t millionths);

  std::array<std::uint64_t, kinds> rest_{};  // [millionths of a line]
};

// An access to the channel, of which so many lines end for the accelerator when it is done.
struct ChannelOperation {
  CoherentRequest of;
  std::uint32_t lines = 0;
  std::uint32_t write = 0;
};

// A piece whose owners have not all answered.
struct AwaitedOwners {
  CoherentRequest later;  // lines for the channel then
  std::uint32_t forwarded = 0;
  std::uint32_t written_back = 0;
  std::uint32_t answers = 0;  // to come
};

// Things by a number, which is given again when one is gone.
template <class Thing>
class Numbered {
 public:
  std::size_t size() const { return things_.size() - free_.size(); }
  Thing& operator[](std::uint32_t number) { return things_[number]; }
  std::uint32_t add(const Thing& thing) {
    if (free_.empty()) {
      things_.push_back(thing);
      return static_cast<std::uint32_t>(things_.size() - 1);
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    things_[number] = thing;
    return number;
  }
  Thing remove(std::uint32_t number) {
    free_.push_back(number);
    return things_[number];
  }
  void save(pdes::StateWriter& writer) const {
    writer.put_all(things_);
    writer.put_all(free_);
  }
  void restore(pdes::StateReader& reader) {
    things_ = reader.get_all<Thing>();
    free_ = reader.get_all<std::uint32_t>();
  }

 private:
  std::vector<Thing> things_;
  std::vector<std::uint32_t> free_;
};

struct CoherentDevice {
  // Numbers one that may begin at the channel; none: it waits until one of those there is done.
  std::optional<std::uint16_t> begin(const ChannelOperation& operation);
  // One that waits, if there is any, now that another is done.
  std::optional<ChannelOperation> next();

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

  CoherentShares shares;
  std::uint32_t turn = 0;  // of the owner that is asked first
  Numbered<ChannelOperation> under_way;
  Numbered<AwaitedOwners> awaited;
  std::deque<ChannelOperation> waiting;  // for a number
};

}  // namespace tessera::memory
