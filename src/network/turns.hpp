// Messages that wait for the one before them between the same two nodes.
//
// Queues lie in a table with open addressing, of a cache line for four: a message looks for that of
// its pair twice, when it comes and when it is over. A pair without a flow keeps its queue, as it
// will have one again, until the table is half full (linear probing: D. Knuth, "The Art of Computer
// Programming", volume 3, section 6.4).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <vector>

#include "tessera/core/linked_pool.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::network {

// Of each pair of nodes with a flow, the messages that wait for it. No pair is 2^64 - 1.
template <class Message>
class Turns {
 public:
  // Whether the message may flow; else it waits.
  bool take(std::uint64_t pair, const Message& message) {
    Queue& queue = queue_of(pair);
    if (queue.first == idle) {
      queue.first = none;
      return true;
    }
    const std::uint32_t place = pool_.keep({message, none});
    (queue.first == none ? queue.first : pool_[queue.last].next) = place;
    queue.last = place;
    return false;
  }

  // A flow of the pair is over: the next one, if any.
  std::optional<Message> pass_on(std::uint64_t pair) {
    Queue& queue = queue_of(pair);
    if (queue.first == none) {
      queue.first = idle;
      return std::nullopt;
    }
    const Waiting waiting = pool_.take(queue.first);
    queue.first = waiting.next;
    return waiting.message;
  }

  // In order.
  std::vector<Message> waiting(std::uint64_t pair) const {
    std::vector<Message> messages;
    const Queue& queue = queues_[place_of(pair)];
    if (queue.pair == pair && queue.first != idle) {
      for (auto at = queue.first; at != none; at = pool_[at].next) {
        messages.push_back(pool_[at].message);
      }
    }
    return messages;
  }
  // All that wait, in no order.
  template <class Visit>
  void visit_waiting(const Visit& visit) {
    for (const Queue& queue : queues_) {
      for (auto at = queue.first == idle ? none : queue.first; at != none; at = pool_[at].next) {
        visit(pool_[at].message);
      }
    }
  }
  // The pair has no flow any more, and nobody waits.
  void clear(std::uint64_t pair) {
    while (pass_on(pair)) {
    }
  }

  void save(pdes::StateWriter& writer) const {
    std::vector<std::uint64_t> pairs;
    for (const Queue& queue : queues_) {
      if (queue.first != idle) {
        pairs.push_back(queue.pair);
      }
    }
    std::sort(pairs.begin(), pairs.end());
    writer.put_all(pairs);
    for (const std::uint64_t pair : pairs) {
      writer.put_all(waiting(pair));
    }
  }
  void restore(pdes::StateReader& reader) {
    for (const std::uint64_t pair : reader.get_all<std::uint64_t>()) {
      queue_of(pair).first = none;
      for (const Message& message : reader.get_all<Message>()) {
        take(pair, message);
      }
    }
  }

 private:
  struct Waiting {
    Message message;
    std::uint32_t next;
  };
  static constexpr std::uint64_t nobody = ~std::uint64_t{0};
  static constexpr std::uint32_t none = LinkedPool<Waiting>::none;
  static constexpr std::uint32_t idle = none - 1;
  static constexpr std::size_t fewest = 64;                           // places, a power of two
  static constexpr std::uint64_t golden_ratio = 0x9E3779B97F4A7C15U;  // of 2^64: spreads keys
  struct Queue {
    std::uint64_t pair = nobody;
    std::uint32_t first = idle;  // in the pool; none: nobody waits for the flow of the pair
    std::uint32_t last = none;
  };

  // Of the pair, or where it belongs.
  std::size_t place_of(std::uint64_t pair) const {
    const std::size_t mask = queues_.size() - 1;
    auto place = static_cast<std::size_t>((pair * golden_ratio) >> shift_);
    while (queues_[place].pair != pair && queues_[place].pair != nobody) {
      place = (place + 1) & mask;
    }
    return place;
  }
  // Valid until the next one.
  Queue& queue_of(std::uint64_t pair) {
    std::size_t place = place_of(pair);
    if (queues_[place].pair == nobody) {
      if (2 * ++pairs_ > queues_.size()) {
        make_room();
        place = place_of(pair);
      }
      queues_[place].pair = pair;
    }
    return queues_[place];
  }
  // For one more, without those that are idle.
  void make_room() {
    std::vector<Queue> kept;
    std::copy_if(queues_.begin(), queues_.end(), std::back_inserter(kept),
                 [](const Queue& queue) { return queue.first != idle; });
    pairs_ = kept.size() + 1;
    queues_.assign(std::max(fewest, std::bit_ceil(4 * pairs_)), Queue{});
    shift_ = 64U - static_cast<unsigned>(std::countr_zero(queues_.size()));
    for (const Queue& queue : kept) {
      queues_[place_of(queue.pair)] = queue;
    }
  }

  std::vector<Queue> queues_ = std::vector<Queue>(fewest);
  unsigned shift_ = 64U - static_cast<unsigned>(std::countr_zero(fewest));
  std::size_t pairs_ = 0;  // in the table
  LinkedPool<Waiting> pool_;
};

}  // namespace tessera::network
