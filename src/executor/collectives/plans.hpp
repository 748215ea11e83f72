// Plans of collectives, shared by the NPUs of a rank.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/tasks.hpp"
#include "tessera/collective/stacked/stacked_run.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/machine/topology/servers.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::executor {

// A collective among some NPUs, with the way from coordinates to NPUs.
class PlannedCollective {
 public:
  // The part of an NPU; `root` is an NPU too.
  std::unique_ptr<collective::CollectiveRun> run(std::uint32_t npu,
                                                 std::optional<std::uint32_t> root) const;
  // The part of an NPU where every member only passes on to the next what it receives, in one phase
  // and in no time; of one word of messages that the caller fills in.
  std::optional<network::RingPart> ring_part(std::uint32_t npu) const;
  // Of an all-to-all with a size for each pair.
  std::unique_ptr<collective::CollectiveRun> unequal_run(
      std::uint32_t npu, const std::vector<std::uint64_t>& bytes_to) const;
  // A phase of a run, and the bytes of its vector at an NPU.
  const collective::Phase& phase(std::uint32_t chunk, std::uint16_t phase) const {
    return shared_.turns.chunks[chunk].phases[phase];
  }
  Bytes phase_bytes(std::uint32_t npu, std::uint32_t chunk, std::uint16_t phase) const;
  // Whether its dimensions are the machine's.
  bool is_box() const { return !is_list_; }
  // Messages to one other member, about: as many as the chunk's first vector takes, times chunks.
  struct Sends {
    std::uint32_t peers = 1;  // that it stands for
    std::uint64_t messages = 0;
    Bytes bytes;  // of all
    Bytes least;  // of one, at least
  };
  // Calls visit(npu, sends) for every NPU that this one may send to, perhaps more than once and a
  // few too many. With `most`, of many in a dimension about so many stand for all.
  template <class Visit>
  void visit_peers(std::uint32_t npu, const Visit& visit, std::uint32_t most = all_peers) const {
    for (std::uint32_t d = 0; d < members_.size(); ++d) {
      for (const auto& [coordinate, sends] : sends_in(npu, d, most)) {
        visit(npu_at(npu, d, coordinate), sends);
      }
    }
  }
  // On an idle machine, if all members begin together; about. `message` as GraphSetup's
  // message_time, of NPUs.
  SimTime idle_time(
      std::uint32_t npu,
      const std::function<SimTime(std::uint32_t from, std::uint32_t to, Bytes)>& message) const;
  // Before its first message, which is that of a barrier: of what is not simulated.
  SimTime held() const { return held_; }
  // The member that differs from `npu` in one coordinate.
  std::uint32_t npu_at(std::uint32_t npu, std::uint32_t dimension, std::uint32_t coordinate) const;

 private:
  friend class CollectivePlans;
  static constexpr std::uint32_t all_peers = 0xFFFFFFFFU;

  std::vector<std::uint32_t> coordinates(std::uint32_t npu) const;
  // Those of phases in a dimension, with the bytes of the smallest one.
  std::map<collective::Kind, Bytes> kinds_in(std::uint32_t npu, std::uint32_t dimension) const;
  std::map<std::uint32_t, Sends> sends_in(std::uint32_t npu, std::uint32_t dimension,
                                          std::uint32_t most) const;

  collective::StackedCollective shared_;
  std::vector<std::uint32_t> sizes_;  // of the machine's dimensions; one where members are a list
  // [dimensions] coordinates of members, or NPUs in a list; empty: that of whoever asks.
  std::vector<std::vector<std::uint32_t>> members_;
  bool is_list_ = false;
  const collective::Program* program_ = nullptr;  // of members in a list
  // Of programs and of collectives with a size for each pair.
  collective::StepCosts costs_;
  std::uint32_t window_ = 0;
  std::uint32_t block_ = 1;
  SimTime held_;
  std::optional<SimTime> barrier_time_;  // of the barrier that is held
};

class CollectivePlans {
 public:
  explicit CollectivePlans(const GraphSetup& setup);
  // Of a collective task; stays where it is.
  const PlannedCollective& of(const Task& task);

 private:
  using Key = std::tuple<std::uint32_t, std::uint16_t, std::uint16_t, collective::Kind,
                         std::uint64_t, bool>;

  std::unique_ptr<PlannedCollective> make(const Task& task);
  using Dimensions = std::vector<collective::RunDimension>;
  using Choice = std::optional<collective::LibraryChoice>;
  // Who takes part, and in which dimensions.
  Dimensions place(const Task& task, const Choice& choice, PlannedCollective& plan) const;
  collective::RunDimension in_list(const Task& task, const Choice& choice,
                                   PlannedCollective& plan) const;
  Dimensions in_box(const Task& task, PlannedCollective& plan) const;
  void stack(const Task& task, const Choice& choice, Dimensions dimensions, Bytes bytes,
             PlannedCollective& plan);
  // In the time of a library.
  std::unique_ptr<PlannedCollective> hold(const Task& task, SimTime time);
  Choice choice_of(const Task& task) const;
  // Members of a dimension in the order of the plan, of which so many each time share a server, and
  // no more; 1 for an algorithm to which that is all the same. Null: of unequal all-to-alls.
  std::uint32_t block_in(const Task& task, const PlannedCollective& plan, std::uint32_t dimension,
                         const collective::Algorithm* algorithm);
  const collective::Algorithm* in_blocks(const collective::Algorithm& algorithm,
                                         std::uint32_t block);
  Bytes bytes_of(const Task& task, std::uint64_t members) const;
  const collective::Program* program_of(const Task& task) const;
  std::vector<std::vector<std::uint32_t>> box_of_group(
      const std::vector<std::uint32_t>& members) const;

  const GraphSetup setup_;
  std::vector<std::uint32_t> sizes_;
  std::optional<machine::Servers> servers_;  // once asked for: it looks at all nodes
  const collective::Algorithm* algorithm(collective::Kind kind, std::size_t dimension) const;
  // Of what is planned without a root: those of the task, where the members are one dimension.
  static std::uint32_t channels_of(const Task& task, const PlannedCollective& plan);
  // Of dimensions of these sizes.
  void use_library(const collective::LibraryChoice& choice, Dimensions& dimensions) const;

  std::vector<std::unique_ptr<collective::Algorithm>> algorithms_;  // [dimensions]
  std::vector<std::unique_ptr<collective::Algorithm>> all_to_all_;  // [dimensions]
  std::unique_ptr<collective::Algorithm> other_algorithm_;
  std::unique_ptr<collective::Algorithm> other_all_to_all_;
  std::map<std::pair<const collective::Algorithm*, std::uint32_t>,
           std::unique_ptr<collective::Algorithm>>
      in_blocks_;
  // A library's.
  std::unique_ptr<collective::Algorithm> ring_;
  std::unique_ptr<collective::Algorithm> tree_;
  std::unique_ptr<collective::Algorithm> barrier_;
  std::map<std::uint32_t, std::vector<std::vector<std::uint32_t>>> boxes_;  // by group
  std::map<std::uint32_t, SimTime> barrier_times_;                          // by group
  std::map<Key, std::unique_ptr<PlannedCollective>> plans_;
};

}  // namespace tessera::executor
