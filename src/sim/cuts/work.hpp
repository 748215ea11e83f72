// What a cut makes of a plan's traffic: the work of each region and the messages between them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "programs/plan_traffic.hpp"
#include "tessera/machine/partition/partition.hpp"

namespace tessera::sim {

class CutWork {
 public:
  // Events of a region in one run of a job.
  struct Share {
    std::uint32_t rank = 0;
    double events = 0;
  };
  // Events from region to region in one exchange of one run of a job: how many there are, how many
  // follow each other (those of messages that go at the same time count once), and whether they are
  // packets, which are heard of on the way, and not only messages at their end.
  struct Crossing {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint32_t steps = 0;
    bool on_the_way = false;
    std::uint64_t events = 0;
  };

  // `owner`: [nodes] region. O(nodes on routes + jobs * ranks of one stage).
  CutWork(const PlanTraffic& traffic, const machine::Owners& owner, int ranks);

  std::span<const Share> shares(std::uint32_t job) const {
    return std::span(shares_).subspan(first_share_[job], first_share_[job + 1] - first_share_[job]);
  }
  std::span<const Crossing> crossings(std::size_t exchange) const {
    return std::span(crossings_)
        .subspan(first_crossing_[exchange],
                 first_crossing_[exchange + 1] - first_crossing_[exchange]);
  }

 private:
  class Stage;

  std::vector<std::size_t> first_share_{0};  // [jobs + 1]
  std::vector<Share> shares_;
  std::vector<std::size_t> first_crossing_{0};  // [exchanges + 1]
  std::vector<Crossing> crossings_;
};

}  // namespace tessera::sim
