// Tables of many entries of which few say something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera {

// [entries] a number each, `usual` where none was set. Pages of entries are there once one of them
// is set; beside these a table takes 4 bytes for 1024 entries.
template <class Value>
class SparseTableOf {
 public:
  SparseTableOf() = default;
  SparseTableOf(std::size_t entries, Value usual)
      : size_(entries),
        usual_(usual),
        page_of_((entries + page - 1) / page, 0),
        values_(page, usual) {}
  SparseTableOf(const std::vector<Value>& list, Value usual) : SparseTableOf(list.size(), usual) {
    for (std::size_t entry = 0; entry < list.size(); ++entry) {
      if (list[entry] != usual) {
        set(entry, list[entry]);
      }
    }
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  Value usual() const { return usual_; }
  Value operator[](std::size_t entry) const {
    return values_[page_of_[entry / page] * page + entry % page];
  }
  // To be changed.
  Value& at(std::size_t entry) {
    std::uint32_t& number = page_of_[entry / page];
    if (number == 0) {
      number = static_cast<std::uint32_t>(values_.size() / page);
      values_.resize(values_.size() + page, usual_);
    }
    return values_[number * page + entry % page];
  }
  void set(std::size_t entry, Value value) { at(entry) = value; }
  // Gives each entry that is not the usual one to `visit(entry, value)`, in order.
  template <class Visit>
  void visit(const Visit& visit) const {
    for (std::size_t run = 0; run < page_of_.size(); ++run) {
      const std::size_t entries = page_of_[run] == 0 ? 0 : std::min(page, size_ - run * page);
      for (std::size_t i = 0; i < entries; ++i) {
        const Value value = values_[page_of_[run] * page + i];
        if (value != usual_) {
          visit(run * page + i, value);
        }
      }
    }
  }
  std::vector<Value> listed() const {
    std::vector<Value> list(size_, usual_);
    visit([&](std::size_t entry, Value value) { list[entry] = value; });
    return list;
  }
  // Of all entries.
  std::uint64_t sum() const {
    std::uint64_t sum = std::uint64_t{usual_} * size_;
    visit([&](std::size_t, Value value) { sum += std::uint64_t{value} - usual_; });
    return sum;
  }
  std::size_t resident_bytes() const {
    return page_of_.capacity() * sizeof(std::uint32_t) + values_.capacity() * sizeof(Value);
  }

 private:
  static constexpr std::size_t page = 1024;

  std::size_t size_ = 0;
  Value usual_ = 0;
  std::vector<std::uint32_t> page_of_;  // [entries / page]; 0: the first, in which nothing is set
  std::vector<Value> values_;           // [pages][page]
};

using SparseTable = SparseTableOf<std::uint32_t>;
using SparseCounts = SparseTableOf<std::uint64_t>;

}  // namespace tessera
