// Multiply-accumulates (MACs) that a processing element (PE) of a systolic array does in a cycle,
// by data type.
//
// A PE of k MACs takes k neighbours of the depth at a time: it multiplies k elements with k weights
// that it holds and adds the k products to one sum, as the dot-product units of arrays with narrow
// types do. The depth is folded: a product takes the cycles of one with a k-th of the depth,
// rounded up, in closed form and stepped, and rows are streamed one a cycle as ever.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "tessera/config/document.hpp"
#include "tessera/core/data_type.hpp"
#include "tessera/core/quotient.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/core/units.hpp"

namespace tessera::machine {

class MacsPerPe {
 public:
  std::uint64_t of(DataType type) const {
    const auto own = macs_.find(type);
    const auto found = own == macs_.end() ? macs_.find(element_type(type)) : own;
    return found == macs_.end() ? 1 : found->second;
  }
  std::uint64_t most() const {
    std::uint64_t most = 1;
    for (const auto& [type, macs] : macs_) {
      most = std::max(most, macs);
    }
    return most;
  }
  const std::map<DataType, std::uint64_t>& stated() const { return macs_; }
  void set(DataType type, std::uint64_t macs) { macs_[type] = macs; }
  // Steps that the depth of a product takes in such an array.
  std::uint64_t folded(std::uint64_t depth, DataType type) const {
    return quotient_up(depth, of(type));
  }

 private:
  std::map<DataType, std::uint64_t> macs_;  // others: 1
};

// What an array of so many elements reaches, of two operations a MAC; the largest rate if it is
// more.
FlopRate array_rate(std::uint64_t elements, std::uint64_t macs_per_pe, Clock clock);

// The key `macs_per_pe`, a mapping of data types; 1 each by default.
MacsPerPe read_macs_per_pe(config::Section& section);
// Notes those of types, other than 1, that work whose products are of `types` has none of.
void note_macs_without_effect(config::Section& section, const MacsPerPe& macs,
                              const std::set<DataType>& types);
ParameterInfo macs_per_pe_parameter();

}  // namespace tessera::machine
