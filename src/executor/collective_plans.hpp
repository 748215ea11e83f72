// Plans of collectives, shared by the NPUs of a rank.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "graph_tasks.hpp"
#include "tessera/collective/stacked_run.hpp"
#include "tessera/executor/graph.hpp"

namespace tessera::executor {

// A collective among some NPUs, with the way from coordinates to NPUs.
class PlannedCollective {
 public:
  const collective::StackedCollective& shared() const { return shared_; }
  std::vector<std::uint32_t> coordinates(std::uint32_t npu) const;
  // The member that differs from `npu` in one coordinate.
  std::uint32_t npu_at(std::uint32_t npu, std::uint32_t dimension, std::uint32_t coordinate) const;

 private:
  friend class CollectivePlans;

  collective::StackedCollective shared_;
  std::vector<std::uint32_t> sizes_;  // of the machine's dimensions; one where members are a list
  // [dimensions] coordinates of members, or NPUs in a list; empty: that of whoever asks.
  std::vector<std::vector<std::uint32_t>> members_;
  bool is_list_ = false;
};

class CollectivePlans {
 public:
  explicit CollectivePlans(const GraphSetup& setup);
  // Of a collective task; stays where it is.
  const PlannedCollective& of(const Task& task);

 private:
  using Key = std::tuple<std::uint32_t, std::uint16_t, workload::GraphCollective, std::uint64_t>;

  std::unique_ptr<PlannedCollective> make(const Task& task) const;

  const GraphSetup setup_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::unique_ptr<collective::Algorithm>> algorithms_;  // [dimensions], then the other
  std::map<std::uint32_t, std::vector<std::vector<std::uint32_t>>> boxes_;  // by group
  std::map<Key, std::unique_ptr<PlannedCollective>> plans_;
};

}  // namespace tessera::executor
