// Items of many lists in one array, whose places are used again: a list costs no allocation once as
// many items have been kept as there are at a time.
//
//   struct Waiting { Message message; std::uint32_t next; };
//   LinkedPool<Waiting> pool;
//   const std::uint32_t place = pool.keep({message, LinkedPool<Waiting>::none});
//   const Waiting first = pool.take(place);
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera {

// Of an item that is kept, `next` is its list's; of a free place, the next free one.
template <class Item>
class LinkedPool {
 public:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  LinkedPool() = default;
  // As it was.
  LinkedPool(std::vector<Item> items, std::uint32_t free) : items_(std::move(items)), free_(free) {}

  std::uint32_t keep(const Item& item) {
    std::uint32_t place = free_;
    if (place == none) {
      place = static_cast<std::uint32_t>(items_.size());
      items_.push_back(item);
    } else {
      free_ = items_[place].next;
      items_[place] = item;
    }
    return place;
  }
  Item take(std::uint32_t place) {
    const Item item = items_[place];
    items_[place].next = free_;
    free_ = place;
    return item;
  }

  Item& operator[](std::uint32_t place) { return items_[place]; }
  const Item& operator[](std::uint32_t place) const { return items_[place]; }
  const std::vector<Item>& items() const { return items_; }  // those of free places among them
  std::uint32_t free() const { return free_; }
  std::size_t resident_bytes() const { return items_.capacity() * sizeof(Item); }

 private:
  std::vector<Item> items_;
  std::uint32_t free_ = none;
};

}  // namespace tessera
