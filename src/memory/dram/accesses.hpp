// Accesses that tiles have open, cut into pieces of which a window is under way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "dram/stack.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::memory {

struct OpenAccess {
  std::uint64_t address = 0;  // of what is still to be asked for
  std::uint64_t to_ask = 0;   // [B]
  std::uint64_t to_come = 0;  // [B] done for when zero
  std::uint16_t number = 0;   // that its pieces carry, of no other that has any under way
  std::uint16_t tag = 0;
  pdes::Port done;
  std::uint8_t write = 0;
  std::uint8_t at_once = 0;  // no window holds it back
};

// Of one tile. Pieces come back in any order: a write may stay in a controller while any number of
// reads pass it, so that a number is given again only when its access is over.
class OpenAccesses {
 public:
  static constexpr std::size_t most_numbers = std::size_t{1} << 16U;

  // An access without bytes counts as one of one byte. Returns the bytes of its pieces.
  std::uint64_t open(OpenAccess access) {
    access.to_ask = access.to_come = access.to_ask > 0 ? access.to_ask : 1;
    queue_.push_back(access);
    return access.to_ask;
  }

  // The next piece of the oldest, within an aligned block of `block` bytes; nothing when all is
  // asked for, when the window is full (one piece may always go), or when no number is free.
  bool next_piece(std::uint64_t block, std::uint64_t window, OpenAccess& of, std::uint64_t& bytes) {
    if (queue_.empty()) {
      return false;
    }
    OpenAccess& access = queue_.front();
    bytes = std::min(access.to_ask, block - access.address % block);
    if (access.at_once == 0 && under_way_ > 0 && under_way_ + bytes > window) {
      return false;
    }
    const bool is_first = access.to_ask == access.to_come;
    if (is_first && !take_number(access)) {
      return false;
    }
    of = access;
    access.address += bytes;
    access.to_ask -= bytes;
    under_way_ += bytes;
    if (access.to_ask == 0) {
      queue_.pop_front();
    }
    return true;
  }

  // Whether any is not wholly asked for.
  bool asks_for_more() const { return !queue_.empty(); }

  // A piece is back. True when the access is complete; `of` gets it then, and it is forgotten.
  bool close_piece(std::uint16_t number, std::uint64_t bytes, OpenAccess& of) {
    ensure(number < begun_.size() && begun_[number].to_come >= bytes,
           "a DRAM reply that nobody waits for");
    under_way_ -= bytes;
    OpenAccess& access = begun_[number];
    access.to_come -= bytes;
    if (access.to_come > 0) {
      return false;
    }
    of = access;
    free_.push_back(number);
    return true;
  }

  std::size_t resident_bytes() const {
    return (queue_.size() + begun_.capacity()) * sizeof(OpenAccess) +
           free_.capacity() * sizeof(std::uint16_t);
  }
  void save(pdes::StateWriter& writer) const {
    writer.put_all(std::vector<OpenAccess>(queue_.begin(), queue_.end()));
    writer.put_all(begun_);
    writer.put_all(free_);
    writer.put(under_way_);
    writer.put(cursor_);
    std::vector<Cursor> cursors;
    for (const auto& [entity, offset] : cursors_of_others_) {
      cursors.push_back({entity, offset});
    }
    writer.put_all(cursors);
  }
  void restore(pdes::StateReader& reader) {
    const auto queue = reader.get_all<OpenAccess>();
    queue_.assign(queue.begin(), queue.end());
    begun_ = reader.get_all<OpenAccess>();
    free_ = reader.get_all<std::uint16_t>();
    under_way_ = reader.get<std::uint64_t>();
    cursor_ = reader.get<std::uint64_t>();
    cursors_of_others_.clear();
    for (const Cursor& cursor : reader.get_all<Cursor>()) {
      cursors_of_others_[cursor.entity] = cursor.offset;
    }
  }

  // [B] How far accesses without an address have come in the region of an entity; none: the own.
  std::uint64_t& cursor_of(EntityId of) {
    return of.valid() ? cursors_of_others_[of.value()] : cursor_;
  }

 private:
  struct Cursor {
    std::uint64_t entity = 0;
    std::uint64_t offset = 0;
  };

  bool take_number(OpenAccess& access) {
    if (!free_.empty()) {
      access.number = free_.back();
      free_.pop_back();
      begun_[access.number] = access;
      return true;
    }
    if (begun_.size() == most_numbers) {
      return false;
    }
    access.number = static_cast<std::uint16_t>(begun_.size());
    begun_.push_back(access);
    return true;
  }

  std::deque<OpenAccess> queue_;     // not wholly asked for, oldest first
  std::vector<OpenAccess> begun_;    // [numbers] of which pieces are under way
  std::vector<std::uint16_t> free_;  // numbers
  std::uint64_t under_way_ = 0;      // [B]
  std::uint64_t cursor_ = 0;
  std::map<std::uint64_t, std::uint64_t> cursors_of_others_;  // by entity
};

}  // namespace tessera::memory
