// Tables of many entries of which few say something.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tessera {

// [entries] a number each, `usual` where none was set. Pages of entries are there once one of them
// is set; beside these a table takes 4 bytes for 1024 entries.
class SparseTable {
 public:
  SparseTable() = default;
  SparseTable(std::size_t entries, std::uint32_t usual)
      : usual_(usual), page_of_((entries + page - 1) / page, 0), values_(page, usual) {}

  std::uint32_t operator[](std::size_t entry) const {
    return values_[page_of_[entry / page] * page + entry % page];
  }
  void set(std::size_t entry, std::uint32_t value) {
    std::uint32_t& number = page_of_[entry / page];
    if (number == 0) {
      number = static_cast<std::uint32_t>(values_.size() / page);
      values_.resize(values_.size() + page, usual_);
    }
    values_[number * page + entry % page] = value;
  }
  std::size_t resident_bytes() const {
    return (page_of_.capacity() + values_.capacity()) * sizeof(std::uint32_t);
  }

 private:
  static constexpr std::size_t page = 1024;

  std::uint32_t usual_ = 0;
  std::vector<std::uint32_t> page_of_;  // [entries / page]; 0: the first, in which nothing is set
  std::vector<std::uint32_t> values_;   // [pages][page]
};

}  // namespace tessera
