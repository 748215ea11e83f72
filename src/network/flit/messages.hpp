// Messages on their way into a flit network and out of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "flit/state.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::network {

// A message that waits at its sender.
struct WaitingMessage {
  std::uint64_t eligible = 0;  // cycle from which on its first flit may come into the router
  std::uint64_t flits = 0;
  std::uint64_t word = 0;
  std::uint32_t target = 0;
  std::uint32_t next = no_message;
  FlitLabel label;
};

// The waiting messages of all nodes of a rank: lists in one pool.
class WaitingMessages {
 public:
  WaitingMessage& first(const RouterHead& node) { return pool_[node.first_message]; }

  void push(RouterHead& node, const WaitingMessage& message) {
    std::uint32_t place = free_;
    if (place == no_message) {
      place = static_cast<std::uint32_t>(pool_.size());
      pool_.push_back(message);
    } else {
      free_ = pool_[place].next;
      pool_[place] = message;
    }
    pool_[place].next = no_message;
    (node.first_message == no_message ? node.first_message : pool_[node.last_message].next) = place;
    node.last_message = place;
  }

  void pop(RouterHead& node) {
    const std::uint32_t place = node.first_message;
    node.first_message = pool_[place].next;
    pool_[place].next = free_;
    free_ = place;
  }

  template <class Visit>
  void visit(const RouterHead& node, const Visit& visit) const {
    for (std::uint32_t at = node.first_message; at != no_message; at = pool_[at].next) {
      visit(pool_[at]);
    }
  }
  void save(const RouterHead& node, pdes::StateWriter& writer) const {
    std::vector<WaitingMessage> list;
    visit(node, [&list](const WaitingMessage& message) { list.push_back(message); });
    writer.put_all(list);
  }
  void restore(RouterHead& node, pdes::StateReader& reader) {
    node.first_message = no_message;
    for (const WaitingMessage& message : reader.get_all<WaitingMessage>()) {
      push(node, message);
    }
  }
  std::size_t resident_bytes() const { return pool_.capacity() * sizeof(WaitingMessage); }

 private:
  std::vector<WaitingMessage> pool_;
  std::uint32_t free_ = no_message;
};

// A message of which some packets have come.
struct PartialMessage {
  std::uint64_t word = 0;
  std::uint32_t source = 0;
  std::uint32_t number = 0;
  std::uint32_t come = 0;
  std::uint32_t packets = 0;  // 0: the last one has not come yet
  FlitLabel label;
};

// Of one node. Packets of a message may overtake each other on different virtual channels.
class PartialMessages {
 public:
  // Counts a packet that has come whole. True when it was the last one missing: `message` is the
  // whole then.
  bool count(const Leaving& packet, PartialMessage& message) {
    const std::uint32_t source = packet.head.source & Flit::node_bits;
    const bool last = packet.head.is(Flit::last_packet);
    const std::uint32_t number = last ? packet.number : packet.head.word[0];
    std::size_t at = 0;
    while (at < list_.size() && (list_[at].source != source || list_[at].number != number)) {
      ++at;
    }
    if (at == list_.size()) {
      list_.push_back({0, source, number, 0, 0, {}});
    }
    PartialMessage& partial = list_[at];
    ++partial.come;
    if (last) {
      partial.word = packet.head.whole_word();
      partial.packets = packet.packets;
      partial.label = {packet.tag, packet.deliver};
    }
    if (partial.come != partial.packets) {
      return false;
    }
    message = partial;
    partial = list_.back();
    list_.pop_back();
    return true;
  }
  template <class Visit>
  void visit(const Visit& visit) const {
    std::for_each(list_.begin(), list_.end(), visit);
  }
  void save(pdes::StateWriter& writer) const { writer.put_all(list_); }
  void restore(pdes::StateReader& reader) { list_ = reader.get_all<PartialMessage>(); }
  std::size_t resident_bytes() const { return list_.capacity() * sizeof(PartialMessage); }

 private:
  std::vector<PartialMessage> list_;
};

}  // namespace tessera::network
