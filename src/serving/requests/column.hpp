// Values by number, one added after the other. Few are held in memory; of many only the newest
// block and some windows of what was asked for last are, and the others lie in a file of their own,
// so that memory does not grow with how many there are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "requests/scratch_file.hpp"

namespace tessera::serving {

// What is asked for is kept for the next one that asks, so that one thread at a time may.
template <class Value>
class Column {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  // Blocks that are held in memory at most, where there is a place for files.
  static constexpr std::size_t most_blocks = 8;
  static constexpr std::size_t of_block = std::size_t{1} << 16U;

  bool empty() const { return blocks_.empty(); }
  std::size_t size() const {
    return empty() ? 0 : (blocks_.size() - 1) * of_block + blocks_.back().size();
  }
  Value operator[](std::uint64_t number) const {
    const std::vector<Value>& block = blocks_[number / of_block];
    return block.empty() ? window_of(number)[number % of_window] : block[number % of_block];
  }
  const Value& back() const { return blocks_.back().back(); }
  // Those from `begin` to before `end`. Valid until others are asked for.
  std::span<const Value> range(std::uint64_t begin, std::uint64_t end) const {
    if (begin == end) {
      return {};
    }
    const std::vector<Value>& block = blocks_[begin / of_block];
    if (!block.empty() && begin / of_block == (end - 1) / of_block) {
      return std::span(block).subspan(begin % of_block, end - begin);
    }
    range_.clear();
    for (std::uint64_t number = begin; number < end; ++number) {
      range_.push_back((*this)[number]);
    }
    return range_;
  }

  // The first block grows as it is filled: most files have few requests.
  void push_back(const Value& value) {
    if (empty() || blocks_.back().size() == of_block) {
      move_out();
      const bool is_first = empty();
      blocks_.emplace_back().reserve(is_first ? 0 : of_block);
    }
    blocks_.back().push_back(value);
  }
  void resize(std::uint64_t count, const Value& value = {}) {
    while (size() < count) {
      push_back(value);
    }
  }
  // Nothing more is added.
  void finish() {
    if (!empty()) {
      blocks_.back().shrink_to_fit();
    }
  }
  std::size_t resident_bytes() const {
    std::size_t values = range_.capacity();
    for (const std::vector<Value>& block : blocks_) {
      values += block.capacity();
    }
    values += moved_ == 0 ? 0 : most_windows * of_window;  // once they have been asked for
    return values * sizeof(Value);
  }

 private:
  static constexpr std::size_t of_window = std::size_t{1} << 12U;
  static constexpr std::size_t most_windows = 16;

  struct Window {
    std::uint64_t number = std::numeric_limits<std::uint64_t>::max();
    std::vector<Value> values;
  };

  // Blocks that are full leave memory from the first on; they stay where the file takes no more.
  void move_out() {
    while (blocks_.size() - moved_ >= most_blocks && !file_is_full_) {
      std::vector<Value>& block = blocks_[moved_];
      file_is_full_ = !file_.append(std::as_bytes(std::span(block)));
      if (!file_is_full_) {
        std::vector<Value>().swap(block);
        ++moved_;
      }
    }
  }

  const std::vector<Value>& window_of(std::uint64_t value) const {
    const std::uint64_t number = value / of_window;
    Window& window = windows_[number % most_windows];
    if (window.number != number) {
      window.values.resize(of_window);
      file_.read(number * of_window * sizeof(Value),
                 std::as_writable_bytes(std::span(window.values)));
      window.number = number;
    }
    return window.values;
  }

  std::vector<std::vector<Value>> blocks_;  // the first `moved_` are empty, and in the file
  std::size_t moved_ = 0;
  ScratchFile file_;
  bool file_is_full_ = false;
  mutable std::array<Window, most_windows> windows_;
  mutable std::vector<Value> range_;
};

}  // namespace tessera::serving
