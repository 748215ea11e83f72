#include "graphs/unused_collectives.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graphs/natural_dimensions.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/collective/conventions.hpp"
#include "tessera/collective/library.hpp"
#include "tessera/config/without_effect.hpp"

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
        work_(work),
        options_(work.options),
        topology_(*platform.machine.topology) {
    if (platform.network) {
      library_ = platform.network->overheads().library;
    }
    for (std::size_t kind = 0; kind < collective::kinds; ++kind) {
      if (work.look.collectives[kind] > 0) {
        asked_.push_back(static_cast<Kind>(kind));
        count_ += work.look.collectives[kind];
      }
    }
  }

  void note() {
    note_programs();
    if (asked_.empty()) {
      return;
    }
    note_algorithms();
    note_all_to_all();
    if (!note_what_goes_by_none()) {
      note_chunks();
      note_dimensions();
    }
    note_window();
    const bool adds = std::any_of(asked_.begin(), asked_.end(), collective::adds_up);
    if (options_.step_costs.front().local_memory != Bandwidth() && !adds &&
        options_.programs.empty()) {
      has_none("local_memory", "collectives that add nothing up");
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
    return work_.look.special_collectives == 0 &&
           std::all_of(asked_.begin(), asked_.end(), [&](Kind kind) {
             return std::all_of(work_.groups.begin(), work_.groups.end(),
                                [&](const executor::GraphGroup& group) {
                                  return group.members.size() < 2 || has_program(kind, group);
                                });
           });
  }
  bool all_are_unequal() const { return work_.look.unequal_collectives == count_; }
  bool all_are_chosen() const {
    return work_.look.special_collectives == 0 &&
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
    }
  }

  // Whether no collective is cut by the section.
  bool note_what_goes_by_none() {
    const bool all_unequal = all_are_unequal();
    if (!all_unequal && !all_go_by_programs()) {
      return false;
    }
    const std::string_view with = all_unequal ? unequal : by_programs;
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
    if (options_.collectives.chunks > 1 || library_.is_named() || work_.look.has_channels) {
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
        work_.look.unequal_collectives > 0 || has_one(options_.other_algorithm) ||
        std::any_of(options_.algorithms.begin(), options_.algorithms.end(), has_one) ||
        std::any_of(options_.all_to_all.begin(), options_.all_to_all.end(), has_one);
    if (options_.algorithm_window > 0 && !takes_it) {
      has_none("algorithm_window", "algorithms without one");
    }
  }

  static constexpr std::string_view flat = "communicators: flat, which go by other_algorithm";
  static constexpr std::string_view by_programs = "programs, by which all collectives go";
  static constexpr std::string_view unequal = "all-to-alls of a size for each pair";

  Section& section_;
  const executor::GraphWork& work_;
  const executor::GraphOptions& options_;
  const machine::Topology& topology_;
  collective::LibrarySettings library_;
  std::vector<Kind> asked_;
  std::uint64_t count_ = 0;  // of nodes
};

}  // namespace

void note_unused_collectives(Section section, const Platform& platform,
                             const executor::GraphWork& work) {
  UnusedKeys(section, platform, work).note();
}

}  // namespace tessera::sim
