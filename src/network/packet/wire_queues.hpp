// Packets that wait for wires which their sources share evenly (tessera/pdes/fair_queue.hpp).
//
// A wire that is served in order of arrival needs no queue: the time at which it is free says all.
// Here a packet that finds its wire in use waits, and the wire calls when it is free, which is one
// event more for each packet that has waited.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/machine/arbitration.hpp"
#include "tessera/machine/topology/topology.hpp"
#include "tessera/pdes/fair_queue.hpp"

namespace tessera::network {

template <class Item>
class WireQueues {
 public:
  // What has to be done for an item that has come.
  enum class Turn : std::uint8_t {
    now,   // it is the one that `next` gives
    call,  // nothing now; the wire calls when it is free
    wait,  // nothing, as it will call anyway
  };
  struct Next {
    Item item;
    bool more = false;  // others wait, so that the wire has to call again
  };

  WireQueues(std::size_t wires, const machine::Sharers& sharers)
      : sharers_(sharers), queues_(wires) {}

  const machine::Sharers& sharers() const { return sharers_; }

  // `free_at`: when the wire will have carried what was given to it.
  Turn take(std::uint32_t wire, std::uint32_t sharer, std::uint64_t bytes, const Item& item,
            SimTime now, SimTime free_at) {
    pdes::FairQueue<Item>& queue = queues_[wire];
    const bool is_first = queue.is_empty();
    const bool is_idle = is_first && free_at <= now;
    if (is_idle) {
      queue.forget();
    }
    queue.add(sharer, bytes, item);
    return is_idle ? Turn::now : is_first ? Turn::call : Turn::wait;
  }

  // Of a wire for which something waits.
  Next next(std::uint32_t wire) {
    pdes::FairQueue<Item>& queue = queues_[wire];
    const Item item = *queue.next();
    return {item, !queue.is_empty()};
  }

  void save(std::uint32_t wire, pdes::StateWriter& writer) const { queues_[wire].save(writer); }
  void restore(std::uint32_t wire, pdes::StateReader& reader) { queues_[wire].restore(reader); }
  std::size_t resident_bytes() const {
    std::size_t bytes =
        sharers_.resident_bytes() + queues_.capacity() * sizeof(pdes::FairQueue<Item>);
    for (const pdes::FairQueue<Item>& queue : queues_) {
      bytes += queue.resident_bytes();
    }
    return bytes;
  }

 private:
  machine::Sharers sharers_;
  std::vector<pdes::FairQueue<Item>> queues_;  // [wires]
};

}  // namespace tessera::network
