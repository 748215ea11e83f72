// How the machine is cut into one region a rank.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tessera/core/region_delays.hpp"
#include "tessera/core/registry.hpp"
#include "tessera/machine/partition/weights.hpp"
#include "tessera/machine/topology/grid_parts.hpp"
#include "tessera/machine/topology/topology.hpp"

namespace tessera::machine {

// [nodes] rank; nothing is stored for nodes where one rank has all, or by parts of a grid.
class Owners {
 public:
  using value_type = std::uint32_t;
  using const_iterator = IndexIterator<Owners>;
  using iterator = const_iterator;

  Owners() = default;
  Owners(std::vector<std::uint32_t> ranks)  // NOLINT(google-explicit-constructor): a list is one
      : list_(std::move(ranks)), size_(list_.size()) {}
  Owners(std::shared_ptr<const GridParts> parts)  // NOLINT(google-explicit-constructor): tells all
      : parts_(std::move(parts)),
        size_(std::size_t{parts_->grid().rows} * parts_->grid().columns) {}
  static Owners one(std::uint32_t nodes) {
    Owners owners;
    owners.size_ = nodes;
    return owners;
  }

  std::size_t size() const { return size_; }
  std::uint32_t operator[](std::size_t node) const {
    return parts_          ? parts_->of(EntityId(static_cast<std::uint32_t>(node)))
           : list_.empty() ? 0
                           : list_[node];
  }
  const_iterator begin() const { return {*this, 0}; }
  const_iterator end() const { return {*this, size_}; }
  // Becomes a list, for those who need one.
  const std::vector<std::uint32_t>& spell_out() {
    if (parts_) {
      *this = Owners(listed());
    }
    list_.resize(size_);
    return list_;
  }
  // Null: not by parts of a grid.
  const std::shared_ptr<const GridParts>& parts() const { return parts_; }
  std::vector<std::uint32_t> listed() const { return {begin(), end()}; }
  friend bool operator==(const Owners& a, const Owners& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  std::shared_ptr<const GridParts> parts_;
  std::vector<std::uint32_t> list_;
  std::size_t size_ = 0;
};

// Owner of every node, and the order of a rank's own nodes in its arrays.
struct Partition {
  int ranks = 1;
  Owners owner;
  std::vector<NodeOrder> members;  // [ranks] in storage order; blocked for locality
  std::uint64_t cut_links = 0;     // directed links between different ranks
  double imbalance = 1.0;          // largest region over the mean, by weight
};

// Partitioners by name:
//   blocks   a grid of near-square rectangles; grids only. Of all products ranks = m × n and a
//            recursive bisection (which also serves prime numbers of ranks), those whose largest
//            region is within a tenth of the best; of these the one with the fewest cut links.
//   metis    METIS_PartGraphKway (Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998,
//            doi:10.1137/S1064827595287997), fixed seed; any graph. Parts that METIS leaves empty
//            take a node of the largest part. Of a grid of more than a million nodes, bands of
//            rows and columns: each that has a node of a weight of its own, and up to a 64th of all
//            between them; ConfigError where these have more than two million crossings.
//   servers  runs of whole servers of equal weight; clusters only. A leaf goes with a server below
//            it, spines are spread; with more ranks than servers, runs of accelerators.
//   stripes  runs of node numbers of equal weight.
//   columns  the same column by column; grids only. Where work moves through the machine in rows,
//            as a pipeline of stages does, every rank has a part of each.
// `weights` has one entry a node or is empty (all alike). Every rank gets at least one node; throws
// ConfigError when there are fewer nodes than ranks or the partitioner cannot cut this topology.
using Partitioner = std::function<Partition(const Topology&, int ranks, const Weights& weights)>;
Registry<Partitioner>& partitioners();

// [ranks] what the nodes of each weigh together.
std::vector<std::uint64_t> loads_of(const Partition& partition, const Weights& weights);

// "blocks" on grids, "servers" on clusters, "metis" otherwise.
std::string default_partitioner(const Topology& topology);

// Of region `self`: no event handled in region j at time t can cause one in region i before
// t + delay. Between two regions the larger of two bounds: the smallest sum of cut-link latencies
// over any chain of regions from j to i, which counts nothing for crossing a region between; and on
// grids the steps between the rectangles around both regions, at the smallest latency. Of one: the
// shortest cycle through another region; `never` on one rank. Direct: the smallest latency of a
// link from one region to another. O(region borders · log ranks) after a pass over nodes and links.
RegionDelays region_delays(const Topology& topology, const Partition& partition, int self);

}  // namespace tessera::machine
