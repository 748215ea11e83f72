#include "graphs/unused_collectives.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/library_choice.hpp"
#include "graphs/natural_dimensions.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/conventions.hpp"
#include "tessera/collective/library.hpp"
#include "tessera/config/without_effect.hpp"
#include "tessera/core/text.hpp"
#include "tessera/executor/collectives/group_dimensions.hpp"
#include "tessera/machine/routing/routing.hpp"
#include "tessera/workload/graph.hpp"

namespace tessera::sim {
namespace {

using collective::DimensionOrder;
using collective::Kind;
using config::Section;

// What of the section has no effect in what graphs do.
class UnusedKeys {
 public:
  UnusedKeys(Section& section, const Platform& platform, const executor::GraphWork& work)
      : section_(section),
        platform_(platform),
        work_(work),
        options_(work.options),
        topology_(*platform.machine.topology) {
    if (platform.network) {
      library_ = platform.network->overheads().library;
    }
    for (std::size_t kind = 0; kind < collective::kinds; ++kind) {
      if (work.survey.collectives[kind] > 0) {
        asked_.push_back(static_cast<Kind>(kind));
        count_ += work.survey.collectives[kind];
      }
    }
    are_switched_ = !asked_.empty() && all_go_by_switches();
  }

  void note() {
    note_programs();
    if (asked_.empty()) {
      return;
    }
    note_algorithms();
    note_all_to_all();
    note_unequal();
    note_one_ring();
    if (!note_what_goes_by_none()) {
      note_chunks();
      note_dimensions();
    }
    note_window();
    if (are_switched_) {
      note_steps();
      return;
    }
    const bool adds = std::any_of(asked_.begin(), asked_.end(), collective::adds_up);
    if (options_.step_costs.front().local_memory != Bandwidth() && !adds &&
        options_.programs.empty()) {
      has_none("local_memory", "collectives without reductions");
    }
  }

 private:
  void has_none(std::string_view key, std::string_view with) {
    config::note_without_effect(section_, key, with);
  }
  bool asks_for(Kind kind) const {
    return std::find(asked_.begin(), asked_.end(), kind) != asked_.end();
  }
  static bool is_of(const collective::Program& program, const executor::GraphGroup& group) {
    return program.members == group.members.size();
  }

  void note_programs() {
    for (const collective::Program& program : options_.programs) {
      const bool has_group =
          std::any_of(work_.groups.begin(), work_.groups.end(),
                      [&](const executor::GraphGroup& group) { return is_of(program, group); });
      if (!has_group || !asks_for(program.kind)) {
        section_.tell(section_.path() + ".programs: " + program.name +
                      " has no effect, as no communicator " +
                      (has_group ? "asks for " + to_string(program.kind)
                                 : "has " + std::to_string(program.members) + " members"));
      }
    }
  }

  // All of them, in whatever communicator.
  bool all_go_by_programs() const {
    const auto has_program = [&](Kind kind, const executor::GraphGroup& group) {
      return std::any_of(options_.programs.begin(), options_.programs.end(),
                         [&](const collective::Program& program) {
                           return program.kind == kind && is_of(program, group);
                         });
    };
    return work_.survey.special_collectives == 0 &&
           std::all_of(asked_.begin(), asked_.end(), [&](Kind kind) {
             return std::all_of(work_.groups.begin(), work_.groups.end(),
                                [&](const executor::GraphGroup& group) {
                                  return group.members.size() < 2 || has_program(kind, group);
                                });
           });
  }
  bool all_are_unequal() const { return work_.survey.unequal_collectives == count_; }
  bool all_are_chosen() const {
    return work_.survey.special_collectives == 0 &&
           std::all_of(asked_.begin(), asked_.end(),
                       [this](Kind kind) { return collective::models(library_.library, kind); });
  }

  // Whether they are not what dimensions have without being named.
  bool names_algorithms() const {
    std::vector<std::string> usual;
    bool is_natural = true;
    for (const NaturalDimension& one : natural_dimensions(topology_, work_.nodes)) {
      const std::size_t d = usual.size();
      is_natural =
          is_natural && d < options_.dimensions.size() && options_.dimensions[d].size == one.size;
      usual.push_back(one.algorithm);
    }
    if (!is_natural || usual.size() != options_.dimensions.size()) {
      usual.assign(options_.dimensions.size(), "ring");
    }
    return options_.algorithms != usual;
  }

  void note_algorithms() {
    if (!names_algorithms()) {
      return;
    }
    if (options_.flat_communicators) {
      has_none("algorithms", flat);
    } else if (all_go_by_programs()) {
      has_none("algorithms", by_programs);
    } else if (all_are_unequal()) {
      has_none("algorithms", unequal);
    } else if (all_are_chosen() &&
               options_.collectives.conventions == &collective::own_conventions()) {
      has_none("algorithms", "machine.network.library, which chooses them");
    }
  }
  void note_all_to_all() {
    if (options_.all_to_all == options_.algorithms) {
      return;
    }
    if (!asks_for(Kind::all_to_all)) {
      has_none("all_to_all", "graphs without all-to-alls");
    } else if (options_.flat_communicators) {
      has_none("all_to_all", flat);
    } else if (all_all_to_alls_are_unequal()) {
      has_none("all_to_all", unequal);
    }
  }

  bool all_all_to_alls_are_unequal() const {
    return work_.survey.unequal_collectives > 0 &&
           work_.survey.unequal_collectives ==
               work_.survey.collectives[static_cast<std::size_t>(Kind::all_to_all)];
  }
  // Those of a size for each pair go directly, where no key is without effect for it.
  void note_unequal() {
    if (work_.survey.unequal_collectives == 0) {
      return;
    }
    const bool names_other = options_.other_algorithm != executor::GraphOptions{}.other_algorithm;
    if (all_are_unequal() && names_other) {
      has_none("other_algorithm", unequal);
    }
    const bool has_own = options_.all_to_all != options_.algorithms;
    const bool is_noted = all_are_unequal() || (has_own && all_all_to_alls_are_unequal());
    std::vector<std::string> asked;
    if (options_.flat_communicators && names_other) {
      asked = {options_.other_algorithm};
    } else if (!options_.flat_communicators && (has_own || names_algorithms())) {
      asked = options_.all_to_all;
    }
    std::erase(asked, "direct");
    if (!is_noted && !asked.empty()) {
      section_.tell(section_.path() +
                    ": all-to-alls with a size for each pair are sent directly, not by " +
                    join(asked));
    }
  }

  // Of machines of nodes that all compute, whose dimensions are not known.
  void note_one_ring() {
    if (topology_.stack() != nullptr || topology_.grid() || topology_.cluster() ||
        topology_.computing_nodes() != topology_.nodes() || options_.flat_communicators ||
        options_.dimensions.size() != 1 || names_algorithms() || all_go_by_programs() ||
        all_are_unequal() || !platform_.network) {
      return;
    }
    const auto routing = machine::make_routing(platform_.network->routing(), topology_);
    std::uint32_t hops = 0;
    for (const executor::GraphGroup& group : work_.groups) {
      const std::size_t size = group.members.size();
      for (std::size_t i = 0; size > 1 && i < size; ++i) {
        const auto node = [&](std::size_t place) {
          return work_.nodes[group.members[place % size]];
        };
        hops =
            std::max(hops, machine::path_between(topology_, *routing, node(i), node(i + 1)).hops);
      }
    }
    if (hops > 1) {
      section_.tell(
          "collectives run as one ring of NPUs in the order of their numbers, with steps of up "
          "to " +
          std::to_string(hops) +
          " hops: the dimensions of this machine are not known (execution.collectives.shape gives "
          "them)");
    }
  }

  // Whether no collective is cut by the section.
  bool note_what_goes_by_none() {
    const bool all_unequal = all_are_unequal();
    if (!all_unequal && !are_switched_ && !all_go_by_programs()) {
      return false;
    }
    const std::string_view with = all_unequal ? unequal : are_switched_ ? switched : by_programs;
    for (const auto& [key, is_given] :
         {std::pair<std::string_view, bool>("chunks", options_.collectives.chunks > 1),
          std::pair<std::string_view, bool>("active_chunks", options_.turns.at_a_time > 1),
          std::pair<std::string_view, bool>("queue",
                                            options_.turns.queue != collective::ChunkQueue::fifo),
          std::pair<std::string_view, bool>("queues", has_queues()),
          std::pair<std::string_view, bool>(
              "order", options_.collectives.order != DimensionOrder::ascending),
          std::pair<std::string_view, bool>("decomposition", is_baseline())}) {
      if (is_given) {
        has_none(key, with);
      }
    }
    return true;
  }

  // Whether switches add all of them up, in whatever communicator.
  bool all_go_by_switches() const {
    const workload::GraphSurvey& survey = work_.survey;
    if (!library_.nvls || !all_are_chosen() || !options_.programs.empty() ||
        survey.collective_sizes.size() > workload::GraphSurvey::most_sizes) {
      return false;
    }
    const auto choose =
        library_of_groups(library_, platform_.machine,
                          machine::make_routing(platform_.network->routing(), topology_));
    return std::ranges::all_of(survey.collective_sizes, [&](const auto& sized) {
      const collective::Kind kind = sized.first;
      const std::uint64_t bytes = sized.second;
      return std::ranges::all_of(work_.groups, [&](const executor::GraphGroup& group) {
        const std::size_t members = group.members.size();
        std::vector<EntityId> nodes;
        for (const std::uint32_t npu : group.members) {
          nodes.push_back(work_.nodes[npu]);
        }
        const auto choice =
            members < 2
                ? std::nullopt
                : choose(kind, nodes, Bytes(bytes) * (workload::counts_parts(kind) ? members : 1));
        return members < 2 || (choice && collective::is_switched(choice->algorithm));
      });
    });
  }

  // What steps take, which a library's time has instead.
  void note_steps() {
    const collective::StepCosts& costs = options_.step_costs.front();
    if (costs.endpoint > SimTime::zero()) {
      has_none("endpoint_delay", switched);
    }
    if (!options_.protocols.empty()) {
      has_none("protocols", switched);
    }
    if (costs.local_memory != Bandwidth()) {
      has_none("local_memory", switched);
    }
  }

  bool is_baseline() const {
    return options_.collectives.decomposition == collective::Decomposition::baseline;
  }
  bool has_queues() const {
    return std::any_of(options_.dimensions.begin(), options_.dimensions.end(),
                       [](const auto& dimension) { return dimension.queues > 1; });
  }
  bool has_one_dimension() const {
    return options_.flat_communicators ||
           std::count_if(options_.dimensions.begin(), options_.dimensions.end(),
                         [](const auto& dimension) { return dimension.size > 1; }) < 2;
  }

  // A library's trees go in pieces, and channels are a chunk each.
  void note_chunks() {
    if (options_.collectives.chunks > 1 || library_.is_named() || work_.survey.has_channels) {
      return;
    }
    constexpr std::string_view one_chunk = "chunks: 1";
    if (options_.turns.at_a_time > 1) {
      has_none("active_chunks", one_chunk);
    }
    if (options_.turns.queue != collective::ChunkQueue::fifo) {
      has_none("queue", one_chunk);
    }
    // In several dimensions a chunk goes through each twice, by two of its queues.
    if (has_queues() && has_one_dimension() && !is_by_themis()) {
      has_none("queues", one_chunk);
    }
  }

  bool is_by_themis() const { return options_.collectives.order == DimensionOrder::themis; }

  // Themis scatters and gathers in one dimension too, and trees of a library are for one order.
  void note_dimensions() {
    if (!has_one_dimension()) {
      return;
    }
    constexpr std::string_view one_dimension = "one dimension";
    if (options_.collectives.order == DimensionOrder::round_robin && !library_.is_named()) {
      has_none("order", one_dimension);
    }
    if (is_baseline() && !is_by_themis()) {
      has_none("decomposition", one_dimension);
    }
  }

  void note_window() {
    const auto has_one = [](const std::string& name) {
      return collective::algorithms().at(name)({})->has_window();
    };
    const bool takes_it =
        work_.survey.unequal_collectives > 0 || has_one(options_.other_algorithm) ||
        std::any_of(options_.algorithms.begin(), options_.algorithms.end(), has_one) ||
        std::any_of(options_.all_to_all.begin(), options_.all_to_all.end(), has_one);
    if (options_.algorithm_window > 0 && !takes_it) {
      has_none("algorithm_window", "algorithms without one");
    }
  }

  static constexpr std::string_view flat = "communicators: flat, which use other_algorithm";
  static constexpr std::string_view by_programs = "programs, which all collectives use";
  static constexpr std::string_view unequal = "all-to-alls with a size for each pair";
  static constexpr std::string_view switched =
      "NVLS, which machine.network.library uses for all collectives";

  Section& section_;
  const Platform& platform_;
  const executor::GraphWork& work_;
  const executor::GraphOptions& options_;
  const machine::Topology& topology_;
  collective::LibrarySettings library_;
  std::vector<Kind> asked_;
  std::uint64_t count_ = 0;    // of nodes
  bool are_switched_ = false;  // by NVLS
};

}  // namespace

void note_unused_collectives(Section section, const Platform& platform,
                             const executor::GraphWork& work) {
  UnusedKeys(section, platform, work).note();
}

}  // namespace tessera::sim
