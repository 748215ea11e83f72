// Messages that came before anybody asked for them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/core/time.hpp"

namespace tessera::executor {

// Lists of waiting messages, one a tile, in a common pool: a tile without any costs four bytes.
class InboxPool {
 public:
  using List = std::uint32_t;
  static constexpr List empty = 0xFFFFFFFFU;

  struct Message {
    EntityId source;
    std::uint16_t tag = 0;
    SimTime sent;
    SimTime arrived;
  };

  // Appends to `list`. O(length of the list).
  void put(List& list, const Message& message);
  // Removes the oldest message of `source` and `tag`.
  std::optional<Message> take(List& list, EntityId source, std::uint16_t tag);
  // Calls visit(const Message&) for each message of `list`, oldest first.
  template <class Visit>
  void for_each(List list, Visit visit) const {
    for (; list != empty; list = nodes_[list].next) {
      visit(nodes_[list].message);
    }
  }
  std::size_t resident_bytes() const { return nodes_.capacity() * sizeof(Node); }

 private:
  struct Node {
    Message message;
    List next = empty;
  };
  std::vector<Node> nodes_;
  List free_ = empty;
};

}  // namespace tessera::executor
