#include "tessera/executor/executor.hpp"

#include <algorithm>
#include <utility>

#include "tessera/compute/messages.hpp"
#include "tessera/core/error.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"
#include "tile_state.hpp"

namespace tessera::executor {
namespace {

using plan::Action;
using plan::Instruction;

// Port kinds.
constexpr unsigned begin_kind = 0;
constexpr unsigned executed_kind = 1;
constexpr unsigned arrival_kind = 2;
constexpr unsigned accessed_kind = 3;

class ProgramExecutor final : public Executor {
 public:
  explicit ProgramExecutor(const ExecutorSetup& setup)
      : setup_(setup), plan_(setup.plan), members_(setup.members), tiles_(members_.size()) {
    for (std::size_t index = 0; index < members_.size(); ++index) {
      tiles_[index].role = plan_.placement.role_number(members_[index]);
      if (tiles_[index].role != plan::Placement::unused) {
        ++unfinished_;
      }
    }
  }

  void start(pdes::Context& context) override {
    if (tiles_[context.index()].role != plan::Placement::unused) {
      context.send_self(SimTime::zero(), pdes::Port(setup_.slot, begin_kind), std::uint32_t{0});
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    TileState& tile = tiles_[context.index()];
    switch (event.port.kind()) {
      case begin_kind:
        advance(context, tile);
        break;
      case executed_kind:
        finish_instruction(context, tile, Activity::compute);
        advance(context, tile);
        break;
      case accessed_kind:
        take_access(context, tile, event.tag);
        break;
      default:
        take_arrival(context, tile, event.as<network::Arrival>(), event.tag);
        break;
    }
  }

  void visit_results(const std::function<void(const TileResult&)>& visit) const override {
    for (std::size_t index = 0; index < members_.size(); ++index) {
      const TileState& tile = tiles_[index];
      if (tile.role == plan::Placement::unused) {
        continue;
      }
      TileResult result{members_[index], tile.role, tile.finished, tile.since, {}};
      for (std::size_t i = 0; i < activities; ++i) {
        result.time[i] = SimTime::from_ps(tile.time_ps[i]);
      }
      visit(result);
    }
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const TileState& tile = tiles_[index];
    if (tile.role == plan::Placement::unused) {
      return;
    }
    save_tile(tile, inboxes_, writer);
    const bool background = tile.background != TileState::no_background;
    writer.put(static_cast<std::uint8_t>(background ? 1 : 0));
    if (background) {
      save_background(program_of(tile), backgrounds_[tile.background], writer);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    TileState& tile = tiles_[index];
    if (tile.role == plan::Placement::unused) {
      return;
    }
    restore_tile(tile, inboxes_, reader);
    unfinished_ -= tile.finished ? 1 : 0;
    if (reader.get<std::uint8_t>() != 0) {
      tile.background = static_cast<std::uint32_t>(backgrounds_.size());
      backgrounds_.push_back(restore_background(program_of(tile), reader));
    }
  }

  void save_totals(pdes::StateWriter& writer) const override { writer.put(instructions_done_); }
  void add_totals(pdes::StateReader& reader) override {
    instructions_done_ += reader.get<std::uint64_t>();
  }

  std::uint64_t unfinished() const override { return unfinished_; }
  std::uint64_t instructions_done() const override { return instructions_done_; }

  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (std::size_t index = 0; index < members_.size() && lines.size() < most; ++index) {
      const TileState& tile = tiles_[index];
      if (tile.role != plan::Placement::unused && !tile.finished) {
        lines.push_back(describe(members_[index], tile));
      }
    }
    return lines;
  }

  std::size_t resident_bytes() const override {
    return tiles_.capacity() * sizeof(TileState) + inboxes_.resident_bytes() +
           backgrounds_.capacity() * sizeof(Background);
  }

 private:
  const plan::Program& program_of(const TileState& tile) const {
    return plan_.stages[plan_.placement.role(tile.role).stage].program;
  }
  const Instruction& current(const TileState& tile) const {
    const plan::Program& program = program_of(tile);
    return program.instructions(program.schedule[tile.entry].phase)[tile.instruction];
  }

  // Runs instructions until one has to wait or the program ends.
  void advance(pdes::Context& context, TileState& tile) {
    const plan::Program& program = program_of(tile);
    while (true) {
      if (tile.entry == program.schedule.size()) {
        tile.entry = 0;
        if (++tile.iteration == setup_.iterations) {
          tile.finished = true;
          tile.since = context.now();
          --unfinished_;
          return;
        }
      }
      const auto& code = program.instructions(program.schedule[tile.entry].phase);
      if (tile.instruction == code.size()) {
        tile.instruction = 0;
        ++tile.entry;
        continue;
      }
      tile.since = context.now();
      if (!begin(context, tile, code[tile.instruction])) {
        return;
      }
      ++tile.instruction;
      ++instructions_done_;
    }
  }

  // Starts an instruction; true when there is nothing to wait for.
  bool begin(pdes::Context& context, TileState& tile, const Instruction& instruction) {
    switch (instruction.action) {
      case Action::execute:
        compute::execute(context, setup_.compute_slot, instruction.operation, port(executed_kind),
                         0);
        return false;
      case Action::send:
        send(context, peer_of(tile, instruction.peer), Bytes(instruction.bytes),
             instruction.traffic);
        return true;
      case Action::receive:
        return receive(context, tile, tile.transfer, peer_of(tile, instruction.peer), instruction);
      case Action::collective:
        tile.transfer = {};
        return run_steps(context, tile, tile.transfer, instruction);
      case Action::start_collective:
        start_background(context, tile, instruction);
        return true;
      case Action::wait_collectives:
        return tile.background == TileState::no_background ||
               backgrounds_[tile.background].queue.empty();
      case Action::read:
      case Action::write: {
        const std::uint64_t bit = std::uint64_t{1} << instruction.slot;
        ensure((tile.accesses & bit) == 0, "a memory slot used twice at a time");
        tile.accesses |= bit;
        memory::access(context, setup_.memory_slot, Bytes(instruction.bytes),
                       instruction.action == Action::write, port(accessed_kind), instruction.slot);
        return true;
      }
      case Action::wait_access:
        return (tile.accesses & instruction.bytes) == 0;
    }
    throw InternalError("an action outside its list");
  }

  // The current instruction has ended: books its time and goes past it.
  void finish_instruction(pdes::Context& context, TileState& tile, Activity activity) {
    book(context, tile, activity, tile.since, context.now());
    ++tile.instruction;
    ++instructions_done_;
  }

  void book(pdes::Context& context, TileState& tile, Activity activity, SimTime start,
            SimTime end) {
    if (start == end) {
      return;
    }
    tile.time_ps[static_cast<std::size_t>(activity)] += (end - start).ps();
    if (setup_.observer != nullptr) {
      const plan::ScheduleEntry& entry = program_of(tile).schedule[tile.entry];
      setup_.observer->on_operator({context.self(), current(tile).name, entry.phase, activity,
                                    entry.micro_batch, start, end});
    }
  }

  void send(pdes::Context& context, EntityId target, Bytes bytes, plan::Traffic traffic) {
    network::send(context, setup_.network_slot, target, bytes, port(arrival_kind),
                  static_cast<std::uint16_t>(traffic),
                  static_cast<std::uint64_t>(context.now().ps()));
  }

  // Takes a message that is here already (true), or notes whom the transfer waits for.
  bool receive(pdes::Context& context, TileState& tile, Transfer& transfer, EntityId source,
               const Instruction& instruction, Bytes bytes) {
    const auto message =
        inboxes_.take(tile.inbox, source, static_cast<std::uint16_t>(instruction.traffic));
    if (!message) {
      transfer.awaited = source;
      return false;
    }
    transfer.awaited = EntityId::none();
    report(context, instruction.traffic, bytes, *message);
    return true;
  }
  bool receive(pdes::Context& context, TileState& tile, Transfer& transfer, EntityId source,
               const Instruction& instruction) {
    return receive(context, tile, transfer, source, instruction, Bytes(instruction.bytes));
  }

  void report(pdes::Context& context, plan::Traffic traffic, Bytes bytes,
              const InboxPool::Message& message) {
    if (setup_.observer != nullptr) {
      setup_.observer->on_message({message.source, context.self(), traffic, bytes, message.sent,
                                   message.arrived, context.now()});
    }
  }

  collective::Step step_of(const TileState& tile, const Instruction& instruction,
                           std::uint32_t step) const {
    const plan::Role role = plan_.placement.role(tile.role);
    const bool tensor = instruction.group == plan::Group::tensor;
    return plan_.algorithm(instruction.group)
        .step(static_cast<collective::Kind>(instruction.collective),
              plan_.group_size(instruction.group), tensor ? role.shard : role.replica,
              Bytes(instruction.bytes), step);
  }

  EntityId member(const TileState& tile, plan::Group group, collective::Member number) const {
    plan::Role role = plan_.placement.role(tile.role);
    (group == plan::Group::tensor ? role.shard : role.replica) = number;
    return plan_.placement.tile(role);
  }

  EntityId peer_of(const TileState& tile, plan::Peer peer) const {
    plan::Role role = plan_.placement.role(tile.role);
    role.stage += peer == plan::Peer::next_stage ? 1U : ~0U;
    return plan_.placement.tile(role);
  }

  // Goes on with a collective from transfer.step until it waits (false) or is over (true).
  bool run_steps(pdes::Context& context, TileState& tile, Transfer& transfer,
                 const Instruction& instruction) {
    const std::uint32_t steps = plan_.algorithm(instruction.group)
                                    .steps(static_cast<collective::Kind>(instruction.collective),
                                           plan_.group_size(instruction.group));
    for (; transfer.step < steps; ++transfer.step) {
      const collective::Step step = step_of(tile, instruction, transfer.step);
      if (step.send_to != collective::nobody) {
        send(context, member(tile, instruction.group, step.send_to), step.send_bytes,
             instruction.traffic);
      }
      if (step.receive_from != collective::nobody &&
          !receive(context, tile, transfer, member(tile, instruction.group, step.receive_from),
                   instruction, step.receive_bytes)) {
        return false;
      }
    }
    return true;
  }

  void start_background(pdes::Context& context, TileState& tile, const Instruction& instruction) {
    if (tile.background == TileState::no_background) {
      tile.background = static_cast<std::uint32_t>(backgrounds_.size());
      backgrounds_.emplace_back();
    }
    Background& background = backgrounds_[tile.background];
    background.queue.push_back(&instruction);
    if (background.queue.size() == 1) {
      background.transfer = {};
      run_background(context, tile);
    }
  }

  void run_background(pdes::Context& context, TileState& tile) {
    Background& background = backgrounds_[tile.background];
    while (!background.queue.empty() &&
           run_steps(context, tile, background.transfer, *background.queue.front())) {
      background.queue.erase(background.queue.begin());
      background.transfer = {};
    }
  }

  void take_access(pdes::Context& context, TileState& tile, std::uint16_t slot) {
    tile.accesses &= ~(std::uint64_t{1} << slot);
    if (tile.finished) {
      return;
    }
    const Instruction& instruction = current(tile);
    if (instruction.action == Action::wait_access && (tile.accesses & instruction.bytes) == 0) {
      finish_instruction(context, tile, Activity::memory);
      advance(context, tile);
    }
  }

  void take_arrival(pdes::Context& context, TileState& tile, const network::Arrival& arrival,
                    std::uint16_t tag) {
    const InboxPool::Message message{arrival.source, tag,
                                     SimTime::from_ps(static_cast<std::int64_t>(arrival.word)),
                                     context.now()};
    if (!tile.finished && tile.transfer.awaited == arrival.source &&
        tag == static_cast<std::uint16_t>(current(tile).traffic)) {
      go_on(context, tile, message);
      return;
    }
    if (tile.background != TileState::no_background) {
      Background& background = backgrounds_[tile.background];
      if (!background.queue.empty() && background.transfer.awaited == arrival.source &&
          tag == static_cast<std::uint16_t>(background.queue.front()->traffic)) {
        go_on_background(context, tile, message);
        return;
      }
    }
    inboxes_.put(tile.inbox, message);
  }

  // The message that the current instruction waits for has come.
  void go_on(pdes::Context& context, TileState& tile, const InboxPool::Message& message) {
    const Instruction& instruction = current(tile);
    tile.transfer.awaited = EntityId::none();
    if (instruction.action == Action::receive) {
      report(context, instruction.traffic, Bytes(instruction.bytes), message);
      const SimTime under_way = std::max(tile.since, message.sent);
      book(context, tile, Activity::bubble, tile.since, under_way);
      tile.since = under_way;
      finish_instruction(context, tile, Activity::pipeline);
      advance(context, tile);
      return;
    }
    const Bytes bytes = step_of(tile, instruction, tile.transfer.step).receive_bytes;
    report(context, instruction.traffic, bytes, message);
    ++tile.transfer.step;
    if (run_steps(context, tile, tile.transfer, instruction)) {
      finish_instruction(
          context, tile,
          instruction.group == plan::Group::tensor ? Activity::tensor : Activity::data);
      advance(context, tile);
    }
  }

  void go_on_background(pdes::Context& context, TileState& tile,
                        const InboxPool::Message& message) {
    Background& background = backgrounds_[tile.background];
    const Instruction& instruction = *background.queue.front();
    const Bytes bytes = step_of(tile, instruction, background.transfer.step).receive_bytes;
    background.transfer.awaited = EntityId::none();
    report(context, instruction.traffic, bytes, message);
    ++background.transfer.step;
    run_background(context, tile);
    if (background.queue.empty() && current(tile).action == Action::wait_collectives) {
      finish_instruction(context, tile, Activity::data);
      advance(context, tile);
    }
  }

  std::string describe(EntityId entity, const TileState& tile) const {
    const machine::Topology& topology = *setup_.machine.topology;
    const plan::Role role = plan_.placement.role(tile.role);
    const plan::ScheduleEntry& entry = program_of(tile).schedule[tile.entry];
    const Instruction& instruction = current(tile);
    std::string text = topology.node_name(entity) + " (stage " + std::to_string(role.stage) +
                       ", replica " + std::to_string(role.replica) + ", shard " +
                       std::to_string(role.shard) + ") waits in '" + plan_.names[instruction.name] +
                       "' of " + to_string(entry.phase) + ", micro-batch " +
                       std::to_string(entry.micro_batch) + ", since " + to_string(tile.since);
    if (tile.transfer.awaited.valid()) {
      text += ", for a message from " + topology.node_name(tile.transfer.awaited);
    }
    return text;
  }

  pdes::Port port(unsigned kind) const { return pdes::Port(setup_.slot, kind); }

  ExecutorSetup setup_;
  const plan::Plan& plan_;
  std::span<const EntityId> members_;
  std::vector<TileState> tiles_;
  InboxPool inboxes_;
  std::vector<Background> backgrounds_;
  std::uint64_t unfinished_ = 0;
  std::uint64_t instructions_done_ = 0;
};

}  // namespace

std::string to_string(Activity activity) {
  switch (activity) {
    case Activity::compute:
      return "compute";
    case Activity::tensor:
      return "tensor";
    case Activity::data:
      return "data";
    case Activity::pipeline:
      return "pipeline";
    case Activity::memory:
      return "memory";
    case Activity::bubble:
      return "bubble";
  }
  throw InternalError("an activity outside its list");
}

std::unique_ptr<Executor> make_executor(const ExecutorSetup& setup) {
  return std::make_unique<ProgramExecutor>(setup);
}

std::size_t bytes_per_tile() {
  return sizeof(TileState);
}

}  // namespace tessera::executor
