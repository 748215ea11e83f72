// How heavy nodes are where a machine is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tessera/core/sparse_table.hpp"

namespace tessera::machine {

// [nodes] what each weighs; empty: all weigh the same.
class Weights : public SparseTable {
 public:
  Weights() = default;
  Weights(std::size_t nodes, std::uint32_t each) : SparseTable(nodes, each) {}
  Weights(const std::vector<std::uint32_t>& list)  // NOLINT(google-explicit-constructor): is one
      : SparseTable(list, 1) {}

  std::uint64_t of(std::size_t node) const { return empty() ? 1 : (*this)[node]; }
  // Of nodes that visit() leaves out.
  std::uint64_t of_others() const { return empty() ? 1 : usual(); }
};

}  // namespace tessera::machine
