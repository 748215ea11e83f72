// Links by level, the lowest first: a binary heap in which a link can be found and moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/core/wide.hpp"

namespace tessera::network {

class LinkHeap {
 public:
  explicit LinkHeap(std::size_t links) : places_(links, nowhere) {}

  bool empty() const { return heap_.empty(); }
  std::uint32_t front() const { return heap_.front().link; }
  // Puts the link in, or moves it.
  void put(std::uint32_t link, Wide level) {
    std::size_t place = places_[link];
    if (place == nowhere) {
      place = heap_.size();
      heap_.emplace_back();
    }
    move({level, link}, place);
  }
  // If it is there.
  void remove(std::uint32_t link) {
    const std::size_t place = places_[link];
    if (place == nowhere) {
      return;
    }
    places_[link] = nowhere;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (place < heap_.size()) {
      move(last, place);
    }
  }

 private:
  struct Entry {
    Wide level = 0;
    std::uint32_t link = 0;
  };
  static constexpr std::uint32_t nowhere = 0xFFFFFFFFU;

  void set(std::size_t place, const Entry& entry) {
    heap_[place] = entry;
    places_[entry.link] = static_cast<std::uint32_t>(place);
  }
  // From `place`, whatever is there, to where it belongs.
  void move(const Entry& entry, std::size_t place) {
    for (; place > 0 && entry.level < heap_[(place - 1) / 2].level; place = (place - 1) / 2) {
      set(place, heap_[(place - 1) / 2]);
    }
    for (std::size_t child = 2 * place + 1; child < heap_.size(); child = 2 * place + 1) {
      if (child + 1 < heap_.size() && heap_[child + 1].level < heap_[child].level) {
        ++child;
      }
      if (heap_[child].level >= entry.level) {
        break;
      }
      set(place, heap_[child]);
      place = child;
    }
    set(place, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> places_;  // by link
};

}  // namespace tessera::network
