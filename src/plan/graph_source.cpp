#include "tessera/plan/graph_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/plan/issue.hpp"
#include "tessera/plan/stages/stage_work.hpp"

namespace tessera::plan {
namespace {

using workload::GraphAction;
using workload::GraphNode;

constexpr unsigned slots = 32;  // of accesses, and of background collectives

// A node of all tiles of a stage: what differs from tile to tile is left to its instruction.
struct Template {
  const Instruction* instruction = nullptr;
  Pass pass;
  std::vector<std::uint64_t> after;
  workload::Issue issue{};  // of execute
};

// Of the node of a member: its part, or the vector.
Bytes bytes_at_each(const Instruction& collective, std::uint64_t members) {
  return Bytes(workload::counts_parts(collective.collective)
                   ? (collective.bytes + members - 1) / members
                   : collective.bytes);
}

// Walks through a program as a tile would, and notes what each instruction waits for.
class GraphWalk {
 public:
  explicit GraphWalk(const Plan& plan) : plan_(plan) {}

  std::vector<Template> over(const Program& program) {
    for (std::size_t entry = 0; entry < program.schedule.size(); ++entry) {
      const ScheduleEntry& scheduled = program.schedule[entry];
      const std::vector<Instruction>& phase = program.instructions(scheduled);
      for (std::size_t place = 0; place < phase.size(); ++place) {
        take(phase[place], scheduled.pass_of(phase[place]));
        if (phase[place].action == Action::execute) {
          nodes_.back().issue = issue_of(program, entry, place);
        }
      }
    }
    return std::move(nodes_);
  }

 private:
  void take(const Instruction& instruction, const Pass& pass) {
    switch (instruction.action) {
      case Action::wait_collectives:
        wait_for(instruction.bytes, collectives_);
        return;
      case Action::wait_access:
        wait_for(instruction.bytes, accesses_);
        return;
      // What every collective takes before its first message: whoever runs the graph adds it for
      // members.
      case Action::elapse:
        if (plan_.group(instruction.group).among_leaders) {
          waits_ = {add(instruction, pass)};
        }
        return;
      case Action::start_elapse:
        return;
      case Action::start_copy:
      case Action::wait_copies:
        throw ConfigError("offload: copies to the host have no graph");
      case Action::send:
        add(instruction, pass);
        return;
      case Action::read:
      case Action::write:
        accesses_[instruction.slot] = add(instruction, pass);
        return;
      case Action::start_collective: {
        const std::uint64_t id = add(instruction, pass);
        if (last_background_) {
          nodes_[id].after.push_back(*last_background_);
        }
        last_background_ = id;
        collectives_[instruction.slot] = id;
        return;
      }
      case Action::execute:
      case Action::collective:
      case Action::receive:
        waits_ = {add(instruction, pass)};
        return;
    }
    throw InternalError("an action outside its list");
  }

  std::uint64_t add(const Instruction& instruction, const Pass& pass) {
    nodes_.push_back({&instruction, pass, waits_});
    return nodes_.size() - 1;
  }

  // The next instruction also waits for what is under way in these slots.
  void wait_for(std::uint64_t mask, std::array<std::optional<std::uint64_t>, slots>& under_way) {
    for (unsigned slot = 0; slot < slots; ++slot) {
      if ((mask >> slot & 1) != 0 && under_way[slot]) {
        waits_.push_back(*under_way[slot]);
        under_way[slot].reset();
      }
    }
  }

  const Plan& plan_;
  std::vector<Template> nodes_;
  std::vector<std::uint64_t> waits_;  // what the next instruction begins after
  std::array<std::optional<std::uint64_t>, slots> accesses_;
  std::array<std::optional<std::uint64_t>, slots> collectives_;
  std::optional<std::uint64_t> last_background_;
};

class PlanSource final : public workload::GraphSource {
 public:
  PlanSource(std::shared_ptr<const Plan> plan, std::vector<EntityId> npus)
      : owned_(std::move(plan)), plan_(*owned_), npus_(std::move(npus)) {
    if (plan_.strategy.aggregation != Aggregation::none) {
      throw ConfigError("aggregation: a tile that stands for others has no graph");
    }
    for (std::uint32_t npu = 0; npu < npus_.size(); ++npu) {
      if (plan_.placement.role_number(npus_[npu]) != Placement::unused) {
        npu_of_[npus_[npu].value()] = npu;
      }
    }
    for (const Stage& stage : plan_.stages) {
      nodes_.push_back(GraphWalk(plan_).over(stage.program));
    }
    find_groups();
  }

  std::uint32_t npus() const override { return static_cast<std::uint32_t>(npus_.size()); }
  std::string name_of(std::uint32_t npu) const override {
    return "program of NPU " + std::to_string(npu);
  }
  const workload::GraphGroups& groups() const override { return groups_; }

  std::optional<workload::GraphSurvey> known() const override {
    workload::GraphSurvey survey;
    survey.is_issued = true;
    survey.names.insert(plan_.names.begin(), plan_.names.end());
    std::vector<Wide> of_stage;
    for (const Stage& stage : plan_.stages) {
      of_stage.emplace_back(operand_bytes_of(plan_, stage.program));
    }
    survey.at_work.resize(npus_.size());
    survey.computed_bytes = SparseTableOf<Wide>(npus_.size(), 0);
    for (const auto& [node, npu] : npu_of_) {
      const std::uint32_t role = plan_.placement.role_number(EntityId(node));
      survey.at_work[npu] = true;
      survey.computed_bytes.set(npu, of_stage[plan_.placement.role(role).stage]);
    }
    for (const std::vector<Template>& nodes : nodes_) {
      const std::uint64_t tiles = plan_.stage_tiles();
      survey.nodes += nodes.size() * tiles;
      for (const Template& node : nodes) {
        const Instruction& instruction = *node.instruction;
        if (instruction.action == Action::execute) {
          const workload::Operation& operation = plan_.operations[instruction.operation];
          const double flops =
              static_cast<double>(operation.flops.count()) * static_cast<double>(tiles);
          survey.device_work += tiles;
          survey.flops += flops;
          survey.flops_of_types[operation.data_type] += flops;
          survey.has_vector_work = survey.has_vector_work || !operation.is_matrix_product();
          survey.has_fused_attention =
              survey.has_fused_attention || operation.kernel == workload::Kernel::fused_attention;
        } else if (instruction.action == Action::read || instruction.action == Action::write) {
          survey.local_accesses += tiles;
        } else if (instruction.action == Action::collective ||
                   instruction.action == Action::start_collective) {
          GraphNode at_each;
          at_each.collective = instruction.collective;
          at_each.bytes = bytes_at_each(instruction, plan_.group(instruction.group).together());
          at_each.channels = plan_.group(instruction.group).channels;
          survey.add_collective(at_each, tiles);
        } else if (instruction.action == Action::send) {
          survey.sends += tiles;
        }
      }
    }
    return survey;
  }

  std::vector<GraphNode> read(std::uint32_t npu, workload::GraphPosition& position,
                              std::size_t most) const override {
    std::vector<GraphNode> result;
    const std::uint32_t role = plan_.placement.role_number(npus_[npu]);
    if (role == Placement::unused) {
      return result;
    }
    const std::vector<Template>& nodes = nodes_[plan_.placement.role(role).stage];
    const std::size_t end = std::min<std::size_t>(nodes.size(), position.nodes + most);
    result.reserve(end - position.nodes);
    for (; position.nodes < end; ++position.nodes) {
      result.push_back(node_of(nodes[position.nodes], position.nodes, role));
    }
    return result;
  }

 private:
  GraphNode node_of(const Template& from, std::uint64_t id, std::uint32_t role) const {
    const Instruction& instruction = *from.instruction;
    GraphNode node;
    node.id = id;
    node.name = plan_.names[instruction.name];
    node.data_dependencies = from.after;
    node.bytes = Bytes(instruction.bytes);
    switch (instruction.action) {
      case Action::execute: {
        const workload::Operation& operation = plan_.operations[instruction.operation];
        node.action = GraphAction::compute;
        node.flops = operation.flops;
        node.bytes = operation.bytes + operation.added;
        node.shape = workload::NodeShape{
            operation.product,        operation.added,    operation.kernel,    operation.data_type,
            operation.stored_weights, operation.elements, operation.twice_keys};
        node.issue = from.issue;
        break;
      }
      case Action::elapse:
        if (!plan_.leads(instruction.group, role)) {
          node.action = GraphAction::compute;
          node.recorded_duration = SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes));
        }
        node.bytes = Bytes(0);
        break;
      case Action::read:
        node.action = GraphAction::load;
        break;
      case Action::write:
        node.action = GraphAction::store;
        break;
      case Action::send:
      case Action::receive:
        if (!plan_.leads(instruction.group, role)) {
          node.action = GraphAction::nothing;
          break;
        }
        node.action = instruction.action == Action::send ? GraphAction::send : GraphAction::receive;
        set_message(node, from, role);
        break;
      default:
        set_collective(node, instruction, role);
        break;
    }
    return node;
  }

  // As the executor of programs: the tag names the micro-batch and the chunk that receives.
  void set_message(GraphNode& node, const Template& from, std::uint32_t number) const {
    const Instruction& instruction = *from.instruction;
    Role role = plan_.placement.role(number);
    const std::uint32_t own = from.pass.chunk;
    const std::uint32_t chunk = instruction.action == Action::send
                                    ? plan_.receiving_chunk(role.stage, own, instruction.peer)
                                    : own;
    role.stage = plan_.peer_stage(role.stage, instruction.peer);
    node.peer = npu_of_.at(plan_.placement.tile(role).value());
    constexpr auto kinds = static_cast<std::uint32_t>(program_traffic_kinds);
    node.tag = (from.pass.micro_batch * plan_.strategy.chunks + chunk) * kinds +
               static_cast<std::uint32_t>(instruction.traffic);
  }

  void set_collective(GraphNode& node, const Instruction& instruction, std::uint32_t role) const {
    const std::vector<std::uint32_t> members = members_of(instruction.group, role);
    if (members.size() < 2) {
      node.action = GraphAction::nothing;
      return;
    }
    node.action = GraphAction::collective;
    node.collective = instruction.collective;
    node.group = name_of(instruction.group, members.front());
    node.channels = plan_.group(instruction.group).channels;
    node.bytes = bytes_at_each(instruction, members.size());
  }

  std::uint32_t npu_of_role(std::uint32_t role) const {
    return npu_of_.at(plan_.placement.tile(role).value());
  }
  std::string name_of(Group group, std::uint32_t first_role) const {
    return to_string(group) + " " + std::to_string(npu_of_role(first_role));
  }

  // Roles, in order; of a member that has no part in the collective, itself.
  std::vector<std::uint32_t> members_of(Group group, std::uint32_t role) const {
    const auto of = [&](collective::Member member) { return plan_.role_of(group, member, role); };
    if (group == Group::each) {
      return {role};
    }
    const collective::Member self = plan_.member_of(group, role);
    const GroupShape& shape = plan_.group(group);
    std::vector<std::uint32_t> members;
    if (shape.among_leaders) {
      for (std::uint32_t part = 0; shape.leads(self) && part < shape.parts; ++part) {
        members.push_back(of(shape.leader(part)));
      }
    } else {
      const std::uint32_t part = shape.part_of(self);
      for (collective::Member m = shape.leader(part); m < shape.leader(part + 1); ++m) {
        members.push_back(of(m));
      }
    }
    return members.empty() ? std::vector<std::uint32_t>{role} : members;
  }

  // Of all collectives in the programs.
  void find_groups() {
    for (std::uint32_t stage = 0; stage < nodes_.size(); ++stage) {
      std::vector<Group> used;
      for (const Template& node : nodes_[stage]) {
        const Action action = node.instruction->action;
        if ((action == Action::collective || action == Action::start_collective) &&
            std::find(used.begin(), used.end(), node.instruction->group) == used.end()) {
          used.push_back(node.instruction->group);
        }
      }
      for (std::uint32_t place = 0; place < plan_.stage_tiles(); ++place) {
        for (const Group group : used) {
          add_group(group, stage * plan_.stage_tiles() + place);
        }
      }
    }
  }

  void add_group(Group group, std::uint32_t role) {
    const std::vector<std::uint32_t> roles = members_of(group, role);
    if (roles.size() < 2 || roles.front() != role) {
      return;  // the first member adds it
    }
    std::vector<std::uint32_t>& members = groups_[name_of(group, role)];
    for (const std::uint32_t member : roles) {
      members.push_back(npu_of_role(member));
    }
  }

  const std::shared_ptr<const Plan> owned_;
  const Plan& plan_;
  std::vector<EntityId> npus_;
  std::unordered_map<std::uint32_t, std::uint32_t> npu_of_;  // by node
  std::vector<std::vector<Template>> nodes_;                 // [stages]
  workload::GraphGroups groups_;
};

}  // namespace

std::unique_ptr<workload::GraphSource> make_graph_source(std::shared_ptr<const Plan> plan,
                                                         std::vector<EntityId> npus) {
  return std::make_unique<PlanSource>(std::move(plan), std::move(npus));
}

}  // namespace tessera::plan
