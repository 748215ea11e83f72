// Coherent accesses that an accelerator has open, cut into pieces of which a window is under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/memory/coherent/coherence.hpp"
#include "tessera/pdes/event.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::memory {

class CoherentRequester {
 public:
  struct Piece {
    Lines lines;
    std::uint16_t tag = 0;
  };

  void open(const Lines& lines, std::uint64_t piece, pdes::Port done, std::uint16_t tag) {
    open_.push_back({lines.count(), lines.writes, piece, 0, 0, tag, done, 0});
  }

  // The next piece of the oldest; none when all is asked for or the window is full.
  std::optional<Piece> next(std::optional<std::uint64_t> outstanding) {
    const auto found = std::find_if(open_.begin(), open_.end(), [](const Access& access) {
      return access.asked < access.lines;
    });
    if (found == open_.end()) {
      return std::nullopt;
    }
    const std::uint64_t count = std::min(found->piece, found->lines - found->asked);
    if (outstanding && under_way_ + count > *outstanding) {
      return std::nullopt;
    }
    const std::uint64_t writes =
        writes_before(*found, found->asked + count) - writes_before(*found, found->asked);
    found->asked += count;
    under_way_ += count;
    return Piece{{count - writes, writes}, found->tag};
  }

  // Lines of that access are over. The port to tell when all are.
  std::optional<pdes::Port> take(std::uint64_t lines, std::uint16_t tag) {
    const auto found = std::find_if(open_.begin(), open_.end(),
                                    [tag](const Access& access) { return access.tag == tag; });
    ensure(found != open_.end() && found->delivered + lines <= found->asked,
           "coherent lines that nobody waits for");
    under_way_ -= lines;
    found->delivered += lines;
    if (found->delivered < found->lines) {
      return std::nullopt;
    }
    const pdes::Port done = found->done;
    open_.erase(found);
    return done;
  }

  void save(pdes::StateWriter& writer) const {
    writer.put_all(open_);
    writer.put(under_way_);
  }
  void restore(pdes::StateReader& reader) {
    open_ = reader.get_all<Access>();
    under_way_ = reader.get<std::uint64_t>();
  }

 private:
  struct Access {
    std::uint64_t lines = 0;
    std::uint64_t writes = 0;  // of these, spread evenly
    std::uint64_t piece = 0;   // lines
    std::uint64_t asked = 0;   // for, lines
    std::uint64_t delivered = 0;
    std::uint16_t tag = 0;
    pdes::Port done;
    std::uint32_t unused = 0;
  };

  static std::uint64_t writes_before(const Access& access, std::uint64_t line) {
    return static_cast<std::uint64_t>(Wide{line} * access.writes / access.lines);
  }

  std::vector<Access> open_;     // in the order begun
  std::uint64_t under_way_ = 0;  // lines
};

}  // namespace tessera::memory
