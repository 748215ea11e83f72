// Work that is the programs of a plan.
#include <algorithm>
#include <map>
#include <utility>

#include "cuts/predicted_events.hpp"
#include "notes/library_note.hpp"
#include "notes/through_host_note.hpp"
#include "programs/aggregation_notes.hpp"
#include "programs/job.hpp"
#include "programs/library_use.hpp"
#include "programs/plan_bytes.hpp"
#include "programs/settle_placement.hpp"
#include "programs/unshared_links.hpp"
#include "run/known_pairs.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/npu/core/cores.hpp"
#include "tessera/plan/stages/stage_work.hpp"
#include "tessera/sim/work.hpp"

namespace tessera::sim {
namespace {

// Events of each node, predicted from the plan.
class PlanPrediction {
 public:
  PlanPrediction(const Platform& platform, const plan::Plan& plan, const Work& work)
      : plan_(plan), events_(platform, predicted_traffic(platform, work)), collectives_(plan_) {}

  SparseCounts make() {
    const plan::Degrees& degrees = plan_.strategy.degrees;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      const plan::StageWork work = plan::work_of(plan_.stages[stage].program);
      for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
        for (std::uint32_t shard = 0; shard < degrees.tensor; ++shard) {
          const plan::Role role{stage, replica, shard};
          if (plan_.is_simulated(plan_.placement.number(role))) {
            add_tile(role, work);
          }
        }
      }
    }
    return events_.take();
  }

 private:
  void add_tile(const plan::Role& role, const plan::StageWork& work) {
    const EntityId tile = plan_.placement.tile(role);
    const std::uint32_t number = plan_.placement.number(role);
    events_.add(tile, events_of_an_operator * work.operators);
    for (const auto& [key, count] : work.sends) {
      if (!plan_.leads(std::get<plan::Group>(key), number)) {
        continue;
      }
      plan::Role peer = role;
      peer.stage = plan_.peer_stage(role.stage, std::get<plan::Peer>(key));
      events_.message(tile, plan_.placement.tile(peer), Bytes(std::get<std::uint64_t>(key)), count);
    }
    for (const auto& [key, count] : work.accesses) {
      events_.access(tile, Bytes(key.second), key.first, count);
    }
    for (const auto& [key, count] : work.collectives) {
      const auto group = std::get<plan::Group>(key);
      for (const plan::Sent& sent : collectives_.of(key)[plan_.member_of(group, number)]) {
        const std::uint32_t peer = plan_.role_of(group, sent.to, number);
        events_.message(tile, plan_.placement.tile(peer), sent.bytes, sent.count * count);
      }
    }
  }

  const plan::Plan& plan_;
  PredictedEvents events_;
  plan::CollectiveSends collectives_;
};

class ProgramWork final : public Work {
 public:
  ProgramWork(const Platform& platform, const ProgramsJob& job)
      : platform_(platform),
        job_(job),
        workload_(job.planned()->workload),
        plan_(job.planned()->plan) {}

  std::uint64_t tiles() const override { return plan_.strategy.degrees.tiles(); }
  std::vector<EntityId> nodes() const override {
    return {plan_.placement.tiles().begin(), plan_.placement.tiles().end()};
  }
  std::uint32_t iterations() const override { return job_.iterations; }
  std::uint64_t instructions() const override { return plan_.instructions(); }
  double peak_flops_per_s() const override {
    return mixed_peak(platform_, plan_.placement.tiles(), plan::flops_of_types(plan_),
                      workload_.data_type);
  }
  std::uint64_t samples() const override { return workload_.samples; }
  std::uint64_t tokens() const override { return workload_.samples * workload_.tokens_a_sample; }
  double flops_of_sample() const override {
    return static_cast<double>(workload_.flops_per_sample().count());
  }
  double flops_done() const override {
    double sum = 0;
    for (const plan::Stage& stage : plan_.stages) {
      sum += static_cast<double>(plan::flops_of(plan_, stage.program)) *
             static_cast<double>(plan_.stage_tiles());
    }
    return sum;
  }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    if (plan_.strategy.aggregation != plan::Aggregation::none) {
      note_aggregation(platform_, plan_, uses_memory(), notes);
      note_library_use(platform_, plan_, notes);
    } else if (has_collectives(plan_)) {
      note_unused_library(*platform_.network, notes);
    }
    note_unused_collectives(platform_, plan_, notes);
    if (std::string note = note_of_placement(job_.planned()->placed_by); !note.empty()) {
      notes.push_back(std::move(note));
    }
    if (std::string note = plan::note_of_peaks(platform_.machine, plan_); !note.empty()) {
      notes.push_back(std::move(note));
    }
    if (std::string note = plan::note_of_recomputation(workload_, plan_.strategy); !note.empty()) {
      notes.push_back(std::move(note));
    }
    if (std::string note = plan::note_of_offload(workload_, plan_); !note.empty()) {
      notes.push_back(std::move(note));
    }
    note_unused_way(platform_.machine, plan_, notes);
    note_unshared_links(platform_, workload_, plan_, notes);
    if (adds_up()) {
      notes.push_back(free_additions);
    }
    if (waits_for_busiest()) {
      notes.emplace_back(
          "each tile of an expert group computes, sends and stores as much as the tile with the "
          "most tokens, for which all wait (workload.experts); executed FLOPs and bytes count that "
          "amount");
    }
    return notes;
  }
  std::vector<std::string> phases() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < plan::phases; ++i) {
      names.push_back(to_string(static_cast<plan::Phase>(i)));
    }
    return names;
  }
  std::vector<executor::Activity> activities() const override {
    std::vector<executor::Activity> activities;
    for (std::size_t i = 0; i < executor::program_activities; ++i) {
      activities.push_back(static_cast<executor::Activity>(i));
    }
    return activities;
  }
  std::vector<Part> parts() const override {
    std::vector<Part> parts;
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) {
      parts.push_back({"stage " + std::to_string(stage), plan_.simulated_tiles()});
    }
    return parts;
  }
  std::size_t part_of(std::uint32_t role) const override {
    return plan_.placement.role(role).stage;
  }
  const std::vector<std::string>& names() const override { return plan_.names; }
  std::vector<EntityId> samples_of_parts() const override {
    std::vector<EntityId> tiles;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      tiles.push_back(plan_.placement.tile({stage, 0, 0}));
    }
    return tiles;
  }
  void describe(EntityId node, trace::NodeRow& row) const override {
    const std::uint32_t number = plan_.placement.role_number(node);
    if (number != plan::Placement::unused) {
      const plan::Role role = plan_.placement.role(number);
      row.stage = role.stage;
      row.replica = role.replica;
      row.shard = role.shard;
    }
  }

  std::size_t shared_bytes() const override { return plan_.resident_bytes(); }
  std::size_t bytes_a_tile() const override { return executor::bytes_per_tile(); }
  // With aggregation, few tiles send, and rarely.
  void visit_messages(const MessageVisit& visit) const override {
    if (plan_.strategy.aggregation != plan::Aggregation::none) {
      return;
    }
    const plan::Degrees& degrees = plan_.strategy.degrees;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      const plan::StageWork work = plan::work_of(plan_.stages[stage].program);
      const double made_s = made_s_of(stage, work);
      for (std::uint32_t replica = 0; replica < degrees.data; ++replica) {
        for (std::uint32_t shard = 0; shard < degrees.tensor; ++shard) {
          visit_messages_of({stage, replica, shard}, work, made_s, visit);
        }
      }
    }
  }
  std::size_t compute_bytes(std::uint64_t nodes) const override {
    return platform_.compute->predicted_bytes(nodes);
  }
  std::optional<Accessed> accessed() const override {
    if (has_cores()) {
      return std::nullopt;  // they access memory by themselves
    }
    return accessed_by_tiles(plan_, job_.iterations);
  }
  std::optional<Accessed> accessed_by_all() const override {
    if (!stands_for_others()) {
      return accessed();
    }
    return has_cores() ? std::nullopt
                       : std::optional(accessed_by_tiles(all_tiles(), job_.iterations));
  }
  std::optional<StoodFor> stood_for() const override {
    return StoodFor{accessed_by_tiles(plan_, job_.iterations),
                    accessed_by_tiles(all_tiles(), job_.iterations),
                    plan_.stage_tiles() / plan_.simulated_tiles()};
  }
  bool stands_for_others() const override {
    return plan_.strategy.aggregation != plan::Aggregation::none;
  }
  std::optional<executor::SentBytes> sent_by_all() const override {
    return sent_by_tiles(all_tiles(), job_.iterations);
  }
  Wide operand_bytes() const override {
    Wide sum = 0;
    for (std::uint32_t stage = 0; stage < plan_.stages.size(); ++stage) {
      const std::uint64_t tiles = tiles_at_operands(stage);
      if (tiles > 0) {
        sum += Wide{plan::operand_bytes_of(plan_, plan_.stages[stage].program)} * tiles *
               job_.iterations;
      }
    }
    return sum;
  }
  SparseCounts predicted_events() const override {
    return PlanPrediction(platform_, plan_, *this).make();
  }
  std::span<const workload::Operation> operations() const override { return plan_.operations; }
  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    return make_model_cores(platform_, plan_.operations, members);
  }
  std::unique_ptr<executor::Executor> make_executor(
      std::span<const EntityId> members, executor::Observer* observer,
      const executor::OutlookSetup& outlook) const override {
    executor::OutlookSetup own = outlook;
    using Known = std::map<std::pair<const machine::Tile*, std::uint32_t>, SimTime>;
    own.least_duration = [this, known = Known()](EntityId node, std::uint32_t operation) mutable {
      const machine::Machine& machine = platform_.machine;
      const machine::Tile& tile = machine.tile_of(node);
      const compute::ComputeModel& model = platform_.compute->of(tile);
      if (model.is_fixed()) {
        return machine.time_at(node, model.duration(machine, tile, plan_.operations[operation]));
      }
      if (machine.speeds.contains(node)) {
        return SimTime::zero();
      }
      const auto [time, is_new] = known.try_emplace(std::pair(&tile, operation));
      if (is_new) {
        time->second = model.least_duration(machine, tile, plan_.operations[operation]);
      }
      return time->second;
    };
    return executor::make_executor({platform_.machine, plan_, members, job_.iterations,
                                    executor_slot, network_slot, memory_slot, compute_slot,
                                    observer, std::move(own)});
  }
  bool tells_when_cores_begin() const override { return true; }
  bool knows_pairs() const override { return true; }
  void visit_pairs(const std::function<void(EntityId, EntityId)>& visit) const override {
    const machine::Machine& machine = platform_.machine;
    const plan::Placement& placement = plan_.placement;
    const auto visit_memory = [&](EntityId tile) {
      const EntityId memory = machine.channels[machine.channel_of[tile.value()]].node;
      visit(tile, memory);
      visit(memory, tile);
    };
    const bool accesses = has_cores() && !machine.channels.empty();
    if (accesses) {
      std::for_each(placement.tiles().begin(), placement.tiles().end(), visit_memory);
    }
    plan::visit_traffic(plan_, {[&](const plan::RoleTraffic& message) {
                                  visit(placement.tile(message.from), placement.tile(message.to));
                                },
                                [&](const plan::RoleAccess& access) {
                                  if (!accesses) {
                                    visit_memory(placement.tile(access.role));
                                  }
                                }});
  }

 private:
  // Those of a stage whose operations go through operands in DRAM without accesses.
  std::uint64_t tiles_at_operands(std::uint32_t stage) const {
    const machine::Machine& machine = platform_.machine;
    const auto goes_through_them = [&](EntityId node) {
      const machine::Tile& tile = machine.tile_of(node);
      return tile.operands_in_dram && !tile.loads_operands;
    };
    const std::uint64_t all = plan_.stage_tiles();
    const auto tiles = std::span(plan_.placement.tiles()).subspan(stage * all, all);
    if (machine.types.empty()) {
      return goes_through_them(tiles.front()) ? all : 0;
    }
    return static_cast<std::uint64_t>(std::ranges::count_if(tiles, goes_through_them));
  }
  // Stages wait for the collectives of their tensor groups, whose messages go over no faster link
  // than the fastest.
  double made_s_of(std::uint32_t stage, const plan::StageWork& work) const {
    double made_s = job_.ideal_time.seconds();
    std::uint64_t fastest = 1;
    for (const machine::LinkClass& link_class : platform_.machine.topology->link_classes()) {
      fastest = std::max(fastest, link_class.bandwidth.bytes_per_second());
    }
    const std::uint32_t number = plan_.placement.number({stage, 0, 0});
    for (const auto& [key, count] : work.collectives) {
      const auto [group, kind, bytes] = key;
      const std::uint32_t steps = plan_.steps(group, kind);
      if (group == plan::Group::tensor && steps > 0) {
        const collective::Step step =
            plan_.step(group, kind, plan_.member_of(group, number), Bytes(bytes), 0);
        made_s += static_cast<double>(step.send_bytes.count()) * steps *
                  static_cast<double>(count) / static_cast<double>(fastest);
      }
    }
    return made_s;
  }
  // A micro-batch is at one place of its pipeline at a time.
  std::uint64_t most_in_flight() const {
    std::uint32_t most = 1;
    for (const plan::Stage& stage : plan_.stages) {
      most = std::max(most, stage.memory.in_flight);
    }
    return most;
  }
  void visit_messages_of(const plan::Role& role, const plan::StageWork& work, double made_s,
                         const MessageVisit& visit) const {
    constexpr std::uint32_t looked_at = 4;  // steps of a collective, and some more
    const std::uint32_t number = plan_.placement.number(role);
    const EntityId tile = plan_.placement.tile(role);
    MessageKind sent{.from = tile, .made_s = made_s};
    sent.stage = role.stage;
    sent.chain = plan_.placement.tile({0, role.replica, role.shard}).value();
    sent.in_chain = most_in_flight();
    for (const auto& [key, count] : work.sends) {
      if (plan_.leads(std::get<plan::Group>(key), number)) {
        plan::Role peer = role;
        peer.stage = plan_.peer_stage(role.stage, std::get<plan::Peer>(key));
        sent.to = plan_.placement.tile(peer);
        sent.bytes = Bytes(std::get<std::uint64_t>(key));
        sent.count = count;
        sent.of = count < plan_.strategy.micro_batches ? MessageKind::Of::work
                                                       : MessageKind::Of::pipeline;
        sent.at_once = sent.of == MessageKind::Of::work ? count : 1;
        visit(sent);
      }
    }
    for (const auto& [key, count] : work.collectives) {
      const auto [group, kind, bytes] = key;
      const std::uint32_t steps = plan_.steps(group, kind);
      const collective::Member member = plan_.member_of(group, number);
      for (std::uint32_t at = 0; at < steps; at += std::max(1U, steps / looked_at)) {
        const collective::Step step = plan_.step(group, kind, member, Bytes(bytes), at);
        if (step.send_to != collective::nobody) {
          const std::uint32_t peer = plan_.role_of(group, step.send_to, number);
          visit({.from = tile, .to = plan_.placement.tile(peer), .bytes = step.send_bytes});
        }
      }
    }
    visit_accesses_of(tile, work, visit);
  }
  void visit_accesses_of(EntityId tile, const plan::StageWork& work,
                         const MessageVisit& visit) const {
    const machine::Machine& machine = platform_.machine;
    if (machine.channels.empty() || machine.channel_of[tile.value()] >= machine.channels.size()) {
      return;
    }
    const machine::MemoryChannel& channel = machine.channels[machine.channel_of[tile.value()]];
    for (const auto& [key, count] : work.accesses) {
      const auto [is_write, bytes] = key;
      const double served_s =
          static_cast<double>(bytes) / static_cast<double>(channel.bandwidth.bytes_per_second());
      platform_.memory->predict_events(
          machine, tile, Bytes(bytes), is_write, [](EntityId, std::uint64_t) {},
          [&](EntityId from, EntityId to, Bytes of_message, std::uint64_t messages) {
            visit({.from = from,
                   .to = to,
                   .bytes = of_message,
                   .at_once = messages,
                   .of = MessageKind::Of::memory,
                   .node = tile,
                   .made_s = served_s,
                   .chain = channel.node.value()});
          });
    }
  }

  // The same plan with no tile that stands for others.
  plan::Plan all_tiles() const {
    plan::Strategy strategy = plan_.strategy;
    strategy.aggregation = plan::Aggregation::none;
    strategy.check_capacity = false;
    return plan_of(platform_, workload_, strategy);
  }
  bool uses_memory() const {
    const std::optional<Accessed> accessed = this->accessed();
    return !accessed || accessed->read + accessed->written > 0;
  }
  // Cores of tiles that access memory by themselves.
  bool has_cores() const {
    const std::span<const machine::Tile> tiles = platform_.machine.tiles();
    return std::any_of(tiles.begin(), tiles.end(), [&](const machine::Tile& tile) {
      return npu::core_of(platform_.compute->of(tile)) != nullptr;
    });
  }
  // Whether any collective does.
  bool adds_up() const {
    const auto adds = [](const plan::Instruction& instruction) {
      const bool is_collective = instruction.action == plan::Action::collective ||
                                 instruction.action == plan::Action::start_collective ||
                                 instruction.action == plan::Action::elapse ||
                                 instruction.action == plan::Action::start_elapse;
      return is_collective && collective::adds_up(instruction.collective);
    };
    return std::any_of(plan_.stages.begin(), plan_.stages.end(), [&](const plan::Stage& stage) {
      return std::any_of(stage.program.pieces.begin(), stage.program.pieces.end(),
                         [&](const std::vector<plan::Instruction>& piece) {
                           return std::any_of(piece.begin(), piece.end(), adds);
                         });
    });
  }

  // Whether experts that replicas share out have not as much to do each.
  bool waits_for_busiest() const {
    const auto is_uneven = [](const workload::Operator& op) {
      const std::vector<std::uint64_t>& copies = op.loads.of_expert;
      const auto [least, most] = std::minmax_element(copies.begin(), copies.end());
      return !copies.empty() && *most > *least + 1;  // one more comes of rounding
    };
    return plan_.strategy.expert > 1 &&
           std::any_of(
               workload_.layers.begin(), workload_.layers.end(), [&](const workload::Layer& layer) {
                 return std::any_of(layer.operators.begin(), layer.operators.end(), is_uneven);
               });
  }

  const Platform& platform_;
  const ProgramsJob& job_;
  const workload::Workload& workload_;
  const plan::Plan& plan_;
};

}  // namespace

std::unique_ptr<Work> ProgramsJob::work(const Platform& platform) const {
  return std::make_unique<ProgramWork>(platform, *this);
}

}  // namespace tessera::sim
