#include "collectives/plans.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "graph/messages.hpp"
#include "tessera/collective/conventions.hpp"
#include "tessera/collective/exchange_order.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/collectives/group_dimensions.hpp"

namespace tessera::executor {
namespace {

using collective::Kind;

void take_protocol(const std::vector<CollectiveProtocol>& protocols, Bytes bytes,
                   collective::StepCosts& costs) {
  if (protocols.empty()) {
    return;
  }
  const auto found =
      std::find_if(protocols.begin(), protocols.end() - 1,
                   [bytes](const CollectiveProtocol& each) { return bytes <= each.up_to; });
  costs.endpoint = found->endpoint;
  costs.data_ppm = found->data_ppm;
}

// A tree's two halves go in pieces of 256 kB, as NCCL's model has them (src/graph/tuning.cc: "the
// latency a 256kB chunk"), of which no more are told apart than this.
void make_pipeline(Bytes bytes, collective::StackedOptions& options,
                   collective::TurnOptions& turns) {
  constexpr std::uint64_t piece = 2 * 256'000;
  constexpr std::uint64_t most_pieces = 64;
  const auto pieces =
      static_cast<std::uint32_t>(std::min(most_pieces, (bytes.count() + piece - 1) / piece));
  options.chunks = std::max(options.chunks, pieces);
  turns.at_a_time = std::max(turns.at_a_time, options.chunks);
}

}  // namespace

CollectivePlans::CollectivePlans(const GraphSetup& setup) : setup_(setup) {
  const GraphOptions& options = setup.work.options;
  for (const collective::StackedDimension& dimension : options.dimensions) {
    sizes_.push_back(dimension.size);
  }
  const auto make = [&options](const std::string& name) {
    return collective::algorithms().at(name)({options.algorithm_window});
  };
  std::transform(options.algorithms.begin(), options.algorithms.end(),
                 std::back_inserter(algorithms_), make);
  std::transform(options.all_to_all.begin(), options.all_to_all.end(),
                 std::back_inserter(all_to_all_), make);
  other_algorithm_ = make(options.other_algorithm);
  other_all_to_all_ = make(options.collectives.conventions->all_to_all(options.other_algorithm));
  ring_ = make("ring");
  tree_ = make("double-binary-tree");
  barrier_ = make("halving-doubling");
}

const collective::Algorithm* CollectivePlans::algorithm(Kind kind, std::size_t dimension) const {
  return (kind == Kind::all_to_all && !all_to_all_.empty() ? all_to_all_ : algorithms_)[dimension]
      .get();
}

const PlannedCollective& CollectivePlans::of(const Task& task) {
  const auto [box, is_new_box] = boxes_.try_emplace(task.group);
  if (is_new_box) {
    box->second = box_of_group(setup_.work.groups[task.group].members);
  }
  const auto [entry, is_new] = plans_.try_emplace(
      Key{task.group, task.dimensions, task.channels, task.collective, task.bytes, task.has_parts});
  if (is_new) {
    entry->second = make(task);
  }
  return *entry->second;
}

std::vector<std::vector<std::uint32_t>> CollectivePlans::box_of_group(
    const std::vector<std::uint32_t>& members) const {
  const GraphOptions& options = setup_.work.options;
  const bool is_flat = options.flat_communicators ||
                       options.collectives.conventions->is_flat(members.size(), setup_.work.npus());
  return is_flat ? std::vector<std::vector<std::uint32_t>>{} : box_of(members, sizes_);
}

// Programs are for whole communicators.
const collective::Program* CollectivePlans::program_of(const Task& task) const {
  const std::vector<collective::Program>& programs = setup_.work.options.programs;
  const auto found =
      std::find_if(programs.begin(), programs.end(), [&](const collective::Program& program) {
        return program.kind == task.collective && task.dimensions == 0 && !task.has_parts &&
               program.members == setup_.work.groups[task.group].members.size();
      });
  return found == programs.end() ? nullptr : &*found;
}

Bytes CollectivePlans::bytes_of(const Task& task, std::uint64_t members) const {
  return Bytes(task.bytes) * (workload::counts_parts(task.collective) ? members : 1);
}

// Of whole communicators.
CollectivePlans::Choice CollectivePlans::choice_of(const Task& task) const {
  const std::vector<std::uint32_t>& members = setup_.work.groups[task.group].members;
  if (!setup_.library || task.dimensions != 0 || task.has_parts || task.bytes == 0 ||
      members.size() < 2 || program_of(task) != nullptr) {
    return std::nullopt;
  }
  std::vector<EntityId> nodes;
  for (const std::uint32_t npu : members) {
    nodes.push_back(setup_.work.nodes[npu]);
  }
  return setup_.library(task.collective, nodes, bytes_of(task, members.size()));
}

// Only an all-reduce goes by a tree, and of those in several dimensions the part in the last one,
// for which the others scatter and gather it.
void CollectivePlans::use_library(const collective::LibraryChoice& choice,
                                  Dimensions& dimensions) const {
  const collective::StackedOptions& options = setup_.work.options.collectives;
  const bool is_tree = choice.algorithm == collective::LibraryAlgorithm::tree &&
                       options.order == collective::DimensionOrder::ascending;
  bool is_last = true;
  for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
    const bool is_alone = dimension->dimension.size < 2;
    dimension->algorithm = is_tree && is_last && !is_alone ? tree_.get() : ring_.get();
    is_last = is_last && is_alone;
  }
}

// What the barrier takes by itself is part of it.
std::unique_ptr<PlannedCollective> CollectivePlans::hold(const Task& task, SimTime time) {
  const GraphOptions& options = setup_.work.options;
  auto plan = std::make_unique<PlannedCollective>();
  plan->is_list_ = true;
  plan->members_.push_back(setup_.work.groups[task.group].members);
  const std::vector<std::uint32_t>& members = plan->members_[0];
  collective::RunDimension only;
  only.dimension.size = static_cast<std::uint32_t>(members.size());
  only.algorithm = barrier_.get();
  const auto message = [&](collective::Member from, collective::Member to, Bytes bytes) {
    return setup_.message_time(setup_.work.nodes[members[from]], setup_.work.nodes[members[to]],
                               bytes);
  };
  collective::StackedOptions how = options.collectives;
  how.chunks = 1;
  plan->shared_ =
      collective::plan_collective(Kind::barrier, Bytes(0), {only}, how, options.turns,
                                  [&](std::uint32_t, collective::Member from, collective::Member to,
                                      Bytes size) { return message(from, to, size); });
  const auto [known, is_new] = barrier_times_.try_emplace(task.group);
  if (is_new) {
    known->second = collective::barrier_time(*barrier_, only.dimension.size, message);
  }
  plan->barrier_time_ = known->second;
  plan->held_ = std::max(SimTime::zero(), time - known->second);
  return plan;
}

std::uint32_t CollectivePlans::channels_of(const Task& task, const PlannedCollective& plan) {
  const bool is_round = !collective::has_root(task.collective) && task.collective != Kind::barrier;
  return is_round && !plan.is_box() ? task.channels : 1;
}

collective::RunDimension CollectivePlans::in_list(const Task& task, const Choice& choice,
                                                  PlannedCollective& plan) const {
  const GraphOptions& options = setup_.work.options;
  const Kind kind = task.collective;
  plan.members_.push_back(setup_.work.groups[task.group].members);
  collective::RunDimension only;
  if (!options.dimensions.empty()) {
    only = {options.dimensions.front(), nullptr, options.step_costs.front()};
  }
  only.dimension.size = static_cast<std::uint32_t>(plan.members_[0].size());
  only.algorithm = kind == Kind::all_to_all ? other_all_to_all_.get() : other_algorithm_.get();
  only.costs.free_additions = 0;
  const bool goes_by_algorithm = !choice && plan.program_ == nullptr && !task.has_parts;
  if (goes_by_algorithm && !only.algorithm->offers(kind)) {
    // Which groups are no whole dimensions is known only as nodes are read.
    throw ModelError("execution.collectives.other_algorithm: " + options.other_algorithm +
                     " has no " + to_string(kind) +
                     ", which a group asks for that is no whole dimension");
  }
  return only;
}

CollectivePlans::Dimensions CollectivePlans::in_box(const Task& task,
                                                    PlannedCollective& plan) const {
  const GraphOptions& options = setup_.work.options;
  plan.sizes_ = sizes_;
  Dimensions dimensions;
  for (std::size_t d = 0; d < sizes_.size(); ++d) {
    if (task.dimensions != 0 && (task.dimensions >> d & 1U) == 0) {
      plan.members_[d].clear();
    }
    dimensions.push_back(
        {options.dimensions[d], algorithm(task.collective, d), options.step_costs[d]});
    dimensions.back().dimension.size =
        static_cast<std::uint32_t>(std::max<std::size_t>(1, plan.members_[d].size()));
  }
  return dimensions;
}

CollectivePlans::Dimensions CollectivePlans::place(const Task& task, const Choice& choice,
                                                   PlannedCollective& plan) const {
  if (plan.program_ == nullptr && !task.has_parts) {
    plan.members_ = boxes_.at(task.group);
  }
  plan.is_list_ = plan.members_.empty();
  Dimensions dimensions =
      plan.is_list_ ? Dimensions{in_list(task, choice, plan)} : in_box(task, plan);
  if (choice) {
    use_library(*choice, dimensions);
  }
  return dimensions;
}

std::uint32_t CollectivePlans::block_in(const Task& task, const PlannedCollective& plan,
                                        std::uint32_t dimension,
                                        const collective::Algorithm* algorithm) {
  const collective::Conventions& conventions = *setup_.work.options.collectives.conventions;
  const std::size_t size = plan.members_[dimension].size();
  if (size < 2 || !conventions.turns_in_servers() ||
      (algorithm != nullptr && !algorithm->in_blocks(2))) {
    return 1;
  }
  if (!servers_) {
    servers_.emplace(*setup_.machine.topology);
  }
  const std::uint32_t first = setup_.work.groups[task.group].members.front();
  std::vector<std::uint32_t> servers(size);
  for (std::uint32_t member = 0; member < size; ++member) {
    servers[member] = servers_->of(setup_.work.nodes[plan.npu_at(first, dimension, member)]);
  }
  const std::uint32_t block = collective::block_on_servers(servers);
  return block == size ? 1 : block;
}

const collective::Algorithm* CollectivePlans::in_blocks(const collective::Algorithm& algorithm,
                                                        std::uint32_t block) {
  if (block == 1) {
    return &algorithm;
  }
  const auto [known, is_new] = in_blocks_.try_emplace({&algorithm, block});
  if (is_new) {
    known->second = algorithm.in_blocks(block);
  }
  return known->second ? known->second.get() : &algorithm;
}

// The same on every rank: times are those between the first member and its neighbours in the
// dimensions.
void CollectivePlans::stack(const Task& task, const Choice& choice, Dimensions dimensions,
                            Bytes bytes, PlannedCollective& plan) {
  collective::StackedOptions how = setup_.work.options.collectives;
  collective::TurnOptions turns = setup_.work.options.turns;
  const bool is_tree = choice && choice->algorithm == collective::LibraryAlgorithm::tree;
  if (is_tree) {
    make_pipeline(bytes, how, turns);
  }
  const std::uint32_t first = setup_.work.groups[task.group].members.front();
  const auto message_time = [&](std::uint32_t dimension, collective::Member from,
                                collective::Member to, Bytes size) {
    const auto node = [&](collective::Member member) {
      return setup_.work.nodes[plan.npu_at(first, dimension, member)];
    };
    return setup_.message_time(node(from), node(to), size);
  };
  for (std::uint32_t d = 0; d < dimensions.size(); ++d) {
    collective::RunDimension& one = dimensions[d];
    one.algorithm = in_blocks(*one.algorithm, block_in(task, plan, d, one.algorithm));
  }
  const std::uint32_t channels = is_tree ? 1 : channels_of(task, plan);
  if (std::uint64_t{channels} * how.chunks > std::uint64_t{1} << chunk_bits) {
    throw ModelError("execution.collectives.chunks: " + std::to_string(how.chunks) +
                     " in each of " + std::to_string(channels) +
                     " channels are more than messages tell apart, 16384");
  }
  const Kind kind = task.collective;
  plan.shared_ = channels > 1 ? collective::plan_channels(kind, bytes, dimensions.front(), channels,
                                                          how, turns, message_time)
                              : collective::plan_collective(kind, bytes, std::move(dimensions), how,
                                                            turns, message_time);
}

std::unique_ptr<PlannedCollective> CollectivePlans::make(const Task& task) {
  const GraphOptions& options = setup_.work.options;
  const Choice choice = choice_of(task);
  if (choice && collective::is_switched(choice->algorithm)) {
    return hold(task, choice->time);
  }
  auto plan = std::make_unique<PlannedCollective>();
  plan->program_ = program_of(task);
  Dimensions dimensions = place(task, choice, *plan);
  std::uint64_t members = 1;
  for (const collective::RunDimension& dimension : dimensions) {
    members *= dimension.dimension.size;
  }
  const Bytes bytes = bytes_of(task, members);
  for (collective::RunDimension& dimension : dimensions) {
    take_protocol(options.protocols, bytes, dimension.costs);
  }
  if (plan->program_ != nullptr || task.has_parts) {
    plan->shared_.bytes = bytes;
    plan->costs_ = dimensions.front().costs;
    plan->window_ = options.algorithm_window;
    plan->block_ = block_in(task, *plan, 0, nullptr);
  } else {
    stack(task, choice, std::move(dimensions), bytes, *plan);
  }
  return plan;
}

}  // namespace tessera::executor
