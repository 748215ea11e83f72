// Which of the requests of several sources goes next, so that each gets an even part of the bytes:
// start-time fair queueing (P. Goyal, H. Vin and H. Cheng, SIGCOMM 1996, section 2, with equal
// weights). A request's start tag is the larger of the virtual time at its coming and the finish
// tag of the one before of its source; its finish tag is that and its size; the smallest start tag
// goes first, and is the virtual time from then on. A request under way is not interrupted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "tessera/pdes/state.hpp"

namespace tessera::pdes {

template <class Item>
class FairQueue {
 public:
  void add(std::uint32_t source, std::uint64_t size, const Item& item) {
    std::uint64_t& finish = finish_[source];
    const std::uint64_t start = std::max(virtual_time_, finish);
    finish = start + size;
    waiting_.emplace(std::tuple(start, source, next_++), item);
  }

  // The one that is to go now; none: nothing waits, and all that was is forgotten.
  std::optional<Item> next() {
    if (waiting_.empty()) {
      forget();
      return std::nullopt;
    }
    const auto first = waiting_.begin();
    const Item item = first->second;
    virtual_time_ = std::get<0>(first->first);
    waiting_.erase(first);
    return item;
  }

  bool is_empty() const { return waiting_.empty(); }
  // What sources have had; nothing waits.
  void forget() {
    finish_.clear();
    virtual_time_ = 0;
  }

  std::size_t resident_bytes() const {
    constexpr std::size_t of_node = 48;  // of a map, beside what is in it
    return waiting_.size() * (sizeof(Waiting) + of_node) +
           finish_.size() * (sizeof(Finish) + of_node);
  }

  void save(StateWriter& writer) const {
    std::vector<Waiting> waiting;
    for (const auto& [key, item] : waiting_) {
      waiting.push_back({std::get<0>(key), std::get<2>(key), std::get<1>(key), item});
    }
    std::vector<Finish> finish;
    for (const auto& [source, tag] : finish_) {
      finish.push_back({tag, source});
    }
    writer.put_all(waiting);
    writer.put_all(finish);
    writer.put(virtual_time_);
    writer.put(next_);
  }
  void restore(StateReader& reader) {
    waiting_.clear();
    finish_.clear();
    for (const Waiting& one : reader.get_all<Waiting>()) {
      waiting_.emplace(std::tuple(one.start, one.source, one.number), one.item);
    }
    for (const Finish& one : reader.get_all<Finish>()) {
      finish_[one.source] = one.tag;
    }
    virtual_time_ = reader.get<std::uint64_t>();
    next_ = reader.get<std::uint64_t>();
  }

 private:
  struct Waiting {
    std::uint64_t start = 0;
    std::uint64_t number = 0;
    std::uint32_t source = 0;
    Item item;
  };
  struct Finish {
    std::uint64_t tag = 0;
    std::uint32_t source = 0;
  };

  // By start tag, source, and order of coming.
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint64_t>, Item> waiting_;
  std::map<std::uint32_t, std::uint64_t> finish_;
  std::uint64_t virtual_time_ = 0;
  std::uint64_t next_ = 0;
};

}  // namespace tessera::pdes
