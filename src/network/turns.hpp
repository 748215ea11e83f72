// Messages that wait for the one before them between the same two nodes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "tessera/pdes/state.hpp"

namespace tessera::network {

// Of each pair of nodes with a flow, the messages that wait for it.
template <class Message>
class Turns {
 public:
  // Whether the message may flow; else it waits.
  bool take(std::uint64_t pair, const Message& message) {
    const auto [entry, is_free] = queues_.try_emplace(pair);
    if (is_free) {
      return true;
    }
    std::uint32_t place = free_;
    if (place == none) {
      place = static_cast<std::uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[place].next;
    }
    pool_[place] = {message, none};
    Queue& queue = entry->second;
    (queue.first == none ? queue.first : pool_[queue.last].next) = place;
    queue.last = place;
    return false;
  }

  // A flow of the pair is over: the next one, if any.
  std::optional<Message> pass_on(std::uint64_t pair) {
    const auto entry = queues_.find(pair);
    Queue& queue = entry->second;
    if (queue.first == none) {
      queues_.erase(entry);
      return std::nullopt;
    }
    Waiting& waiting = pool_[queue.first];
    const std::uint32_t place = queue.first;
    queue.first = waiting.next;
    waiting.next = free_;
    free_ = place;
    return waiting.message;
  }

  // In order.
  std::vector<Message> waiting(std::uint64_t pair) const {
    std::vector<Message> messages;
    const auto entry = queues_.find(pair);
    if (entry != queues_.end()) {
      for (auto at = entry->second.first; at != none; at = pool_[at].next) {
        messages.push_back(pool_[at].message);
      }
    }
    return messages;
  }
  // All that wait, in no order.
  template <class Visit>
  void visit_waiting(const Visit& visit) {
    for (const auto& [pair, queue] : queues_) {
      for (auto at = queue.first; at != none; at = pool_[at].next) {
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
    for (const auto& [pair, queue] : queues_) {
      pairs.push_back(pair);
    }
    std::sort(pairs.begin(), pairs.end());
    writer.put_all(pairs);
    for (const std::uint64_t pair : pairs) {
      writer.put_all(waiting(pair));
    }
  }
  void restore(pdes::StateReader& reader) {
    for (const std::uint64_t pair : reader.get_all<std::uint64_t>()) {
      queues_.try_emplace(pair);
      for (const Message& message : reader.get_all<Message>()) {
        take(pair, message);
      }
    }
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;
  struct Queue {
    std::uint32_t first = none;  // in the pool
    std::uint32_t last = none;
  };
  struct Waiting {
    Message message;
    std::uint32_t next = none;
  };
  std::unordered_map<std::uint64_t, Queue> queues_;
  std::vector<Waiting> pool_;
  std::uint32_t free_ = none;
};

}  // namespace tessera::network
