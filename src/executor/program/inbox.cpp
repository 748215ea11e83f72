#include "program/inbox.hpp"

namespace tessera::executor {

void InboxPool::put(List& list, const Message& message) {
  List place = free_;
  if (place == empty) {
    place = static_cast<List>(nodes_.size());
    nodes_.emplace_back();
  } else {
    free_ = nodes_[place].next;
  }
  nodes_[place] = {message, empty};
  List* end = &list;
  while (*end != empty) {
    end = &nodes_[*end].next;
  }
  *end = place;
}

std::optional<InboxPool::Message> InboxPool::take(List& list, EntityId source, std::uint16_t tag) {
  for (List* link = &list; *link != empty; link = &nodes_[*link].next) {
    const List place = *link;
    Node& node = nodes_[place];
    if (node.message.source == source && node.message.tag == tag) {
      *link = node.next;
      node.next = free_;
      free_ = place;
      return node.message;
    }
  }
  return std::nullopt;
}

}  // namespace tessera::executor
