// What simulators do each in their own way where papers leave it open, or code and paper differ.
// This program's way is the base class; those of others are in compat/, a file each, so that their
// results can be met. Chosen by `collectives.compatible`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/collective/stacked/stacked.hpp"
#include "tessera/core/time.hpp"

namespace tessera::collective {

// In which order the chunks of a collective go through the dimensions, so that all are busy alike.
class DimensionOrders {
 public:
  DimensionOrders() = default;
  virtual ~DimensionOrders() = default;
  DimensionOrders(const DimensionOrders&) = delete;
  DimensionOrders& operator=(const DimensionOrders&) = delete;
  // For the next chunk; `bytes` are what an NPU has at first. All-gathers go through the dimensions
  // from the last of the order to the first.
  virtual std::vector<std::uint32_t> order(double bytes) = 0;
};

class Conventions {
 public:
  Conventions() = default;
  virtual ~Conventions() = default;
  Conventions(const Conventions&) = delete;
  Conventions& operator=(const Conventions&) = delete;

  // By how many dimensions the ascending order is turned, to the front, for a chunk under
  // DimensionOrder::round_robin; less than `dimensions`. By one with each chunk.
  virtual std::size_t turned_by(Kind kind, std::uint32_t chunk, std::size_t dimensions) const;
  // For DimensionOrder::themis. The dimensions outlive what is made.
  virtual std::unique_ptr<DimensionOrders> themis(
      Kind kind, std::span<const StackedDimension> dimensions) const;
  // Under ChunkQueue::smallest_first: whether a chunk of `bytes` that has so many phases to go
  // after the one it comes for goes before one of `other` bytes that waits. If it is smaller.
  virtual bool goes_before(Bytes bytes, Bytes other, std::size_t phases_to_go) const;
  // Times of additions and of nodes that compute are cut to a multiple of it. One picosecond.
  virtual SimTime tick() const;
  // Additions in the first steps of an algorithm that take no time. None.
  virtual std::uint32_t free_additions(std::string_view algorithm) const;
  // Whether a communicator of so many of all NPUs is one ring, whatever dimensions it fills. No.
  virtual bool is_flat(std::size_t members, std::size_t npus) const;
  // Whether members that send straight to all others turn within their servers (Algorithm::
  // in_blocks). Yes.
  virtual bool turns_in_servers() const;
  // By which algorithm communicators that fill no dimensions do an all-to-all when they do all
  // else by this one. By the same.
  virtual std::string all_to_all(const std::string& algorithm) const;
};

// This program's.
const Conventions& own_conventions();
// Down to a multiple of `tick`.
SimTime cut_to(SimTime tick, SimTime time);

}  // namespace tessera::collective
