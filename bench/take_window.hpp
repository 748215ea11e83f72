// All events of a calendar's next window, in no order.
#pragma once

#include <span>

#include "tessera/pdes/calendar.hpp"

namespace tessera::bench {

template <class Handle>
void take_window(pdes::Calendar& calendar, pdes::WindowNumber window, const Handle& handle) {
  calendar.take(window);
  for (auto list = calendar.next_list(); list.chunks != nullptr; list = calendar.next_list()) {
    pdes::EventChunk* last = nullptr;
    for (pdes::EventChunk* chunk = list.chunks; chunk != nullptr; chunk = chunk->next) {
      last = chunk;
      for (const pdes::Event& event : std::span(chunk->events(), chunk->count)) {
        handle(event);
      }
    }
    calendar.release(list, last);
  }
}

}  // namespace tessera::bench
