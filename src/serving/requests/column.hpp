// Values by number, one added after the other, in blocks that stay where they are: what is there is
// not held twice while it grows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera::serving {

template <class Value>
class Column {
 public:
  bool empty() const { return blocks_.empty(); }
  std::size_t size() const {
    return empty() ? 0 : (blocks_.size() - 1) * of_block + blocks_.back().size();
  }
  const Value& operator[](std::uint64_t number) const {
    return blocks_[number / of_block][number % of_block];
  }
  const Value& back() const { return blocks_.back().back(); }

  // The first block grows as it is filled: most files have few requests.
  void push_back(const Value& value) {
    if (empty() || blocks_.back().size() == of_block) {
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
  template <class Change>
  void change_all(Change change) {
    for (std::vector<Value>& block : blocks_) {
      for (Value& value : block) {
        change(value);
      }
    }
  }
  // Nothing more is added.
  void finish() {
    if (!empty()) {
      blocks_.back().shrink_to_fit();
    }
  }
  std::size_t resident_bytes() const {
    std::size_t values = 0;
    for (const std::vector<Value>& block : blocks_) {
      values += block.capacity();
    }
    return values * sizeof(Value);
  }

 private:
  static constexpr std::size_t of_block = std::size_t{1} << 16U;

  std::vector<std::vector<Value>> blocks_;
};

}  // namespace tessera::serving
