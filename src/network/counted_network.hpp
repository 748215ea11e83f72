// What networks count over all nodes of a rank.
#pragma once

#include <cstdint>

#include "tessera/network/network.hpp"

namespace tessera::network {

// Sums, which ranks add up: any node may add to them.
class CountedNetwork : public Network {
 public:
  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(hops_);
    writer.put(carried_);
  }
  void add_totals(pdes::StateReader& reader) override {
    hops_ += reader.get<std::uint64_t>();
    carried_ += reader.get<Carried>();
  }
  std::uint64_t packet_hops() const override { return hops_; }
  Carried carried() const override { return carried_; }

 protected:
  std::uint64_t hops_ = 0;
  Carried carried_;
};

}  // namespace tessera::network
