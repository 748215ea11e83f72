// Accesses that tiles have open, cut into pieces of which a window is under way.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "dram_stack.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::memory {

struct OpenAccess {
  std::uint64_t address = 0;  // of what is still to be asked for
  std::uint64_t to_ask = 0;   // [B]
  std::uint64_t to_come = 0;  // [B] done for when zero
  std::uint16_t serial = 0;   // among those that are open
  std::uint16_t tag = 0;
  pdes::Port done;
  std::uint8_t write = 0;
};

// Of one tile, oldest first.
class OpenAccesses {
 public:
  // An access without bytes counts as one of one byte.
  void open(OpenAccess access) {
    if (!accesses_.empty() && accesses_.front().serial == serials_) {
      throw ModelError("an access to DRAM is open while 65536 others of its tile follow it");
    }
    access.serial = serials_++;
    access.to_ask = access.to_come = access.to_ask > 0 ? access.to_ask : 1;
    accesses_.push_back(access);
  }

  // The next piece, within an aligned block of `block` bytes; nothing when all is asked for, or
  // when the window is full (one piece may always go).
  bool next_piece(std::uint64_t block, std::uint64_t window, OpenAccess& of, std::uint64_t& bytes) {
    while (asking_ < accesses_.size() && accesses_[asking_].to_ask == 0) {
      ++asking_;
    }
    if (asking_ == accesses_.size()) {
      return false;
    }
    OpenAccess& access = accesses_[asking_];
    bytes = std::min(access.to_ask, block - access.address % block);
    if (under_way_ > 0 && under_way_ + bytes > window) {
      return false;
    }
    of = access;
    access.address += bytes;
    access.to_ask -= bytes;
    under_way_ += bytes;
    return true;
  }

  // A piece is back. True when the access is complete; `of` gets it then, and it is forgotten.
  bool close_piece(std::uint16_t serial, std::uint64_t bytes, OpenAccess& of) {
    under_way_ -= bytes;
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].serial == serial) {
        accesses_[i].to_come -= bytes;
        if (accesses_[i].to_come > 0) {
          return false;
        }
        of = accesses_[i];
        accesses_.erase(accesses_.begin() + static_cast<std::ptrdiff_t>(i));
        asking_ -= i < asking_ ? 1 : 0;
        return true;
      }
    }
    throw InternalError("a DRAM reply that nobody waits for");
  }

  std::size_t resident_bytes() const { return accesses_.size() * sizeof(OpenAccess); }
  void save(pdes::StateWriter& writer) const {
    writer.put_all(std::vector<OpenAccess>(accesses_.begin(), accesses_.end()));
    writer.put(static_cast<std::uint64_t>(asking_));
    writer.put(under_way_);
    writer.put(cursor);
    writer.put(serials_);
  }
  void restore(pdes::StateReader& reader) {
    const auto accesses = reader.get_all<OpenAccess>();
    accesses_.assign(accesses.begin(), accesses.end());
    asking_ = static_cast<std::size_t>(reader.get<std::uint64_t>());
    under_way_ = reader.get<std::uint64_t>();
    cursor = reader.get<std::uint64_t>();
    serials_ = reader.get<std::uint16_t>();
  }

  std::uint64_t cursor = 0;  // [B] how far accesses without an address have come in their region

 private:
  std::deque<OpenAccess> accesses_;
  std::size_t asking_ = 0;  // of accesses_: those before it are all asked for
  std::uint64_t under_way_ = 0;
  std::uint16_t serials_ = 0;
};

}  // namespace tessera::memory
