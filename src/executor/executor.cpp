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
constexpr unsigned elapsed_kind = 4;
constexpr unsigned elapsed_beside_kind = 5;

// Tags: the traffic in the lowest bits, one for what goes on in the background, and above them the
// micro-batch and chunk of a boundary tensor or the step of a collective, which tell apart what one
// tile has under way to another.
constexpr unsigned traffic_bits = 3;
constexpr std::uint16_t background_bit = 1U << traffic_bits;
static_assert(plan::traffic_kinds <= background_bit);

std::uint16_t tag_of(plan::Traffic traffic, bool background, std::uint32_t number) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(traffic) |
                                    (background ? background_bit : 0U) |
                                    number << (traffic_bits + 1));
}

Activity activity_of(plan::Traffic traffic) {
  switch (traffic) {
    case plan::Traffic::tensor:
      return Activity::tensor;
    case plan::Traffic::data:
      return Activity::data;
    case plan::Traffic::context:
      return Activity::context;
    case plan::Traffic::expert:
      return Activity::expert;
    default:
      return Activity::pipeline;
  }
}

class ProgramExecutor final : public Executor {
 public:
  explicit ProgramExecutor(const ExecutorSetup& setup)
      : setup_(setup), plan_(setup.plan), members_(setup.members), tiles_(members_.size()) {
    for (std::size_t index = 0; index < members_.size(); ++index) {
      const std::uint32_t role = plan_.placement.role_number(members_[index]);
      if (role != plan::Placement::unused && plan_.is_simulated(role)) {
        tiles_[index].role = role;
        ++unfinished_;
      }
    }
    outputs_.resize(plan_.training ? 0 : members_.size());
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
      case elapsed_kind:
        finish_instruction(context, tile, activity_of(current(tile).traffic));
        advance(context, tile);
        break;
      case elapsed_beside_kind:
        ++backgrounds_[tile.background].transfer.step;
        go_on_beside(context, tile);
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
      TileResult result;
      result.tile = members_[index];
      result.role = tile.role;
      result.finished = finished(tile);
      result.end = tile.since;
      SimTime known;
      for (std::size_t i = 0; i < tile.time_ps.size(); ++i) {
        result.time[i] = SimTime::from_ps(tile.time_ps[i]);
        known += result.time[i];
      }
      result.time[static_cast<std::size_t>(Activity::bubble)] = tile.since - known;
      if (!outputs_.empty()) {
        result.first_output = outputs_[index].first;
        result.last_output = outputs_[index].last;
      }
      visit(result);
    }
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const TileState& tile = tiles_[index];
    if (tile.role == plan::Placement::unused) {
      return;
    }
    save_tile(tile, inboxes_, other_steps_, writer);
    if (!outputs_.empty()) {
      writer.put(outputs_[index].first);
      writer.put(outputs_[index].last);
    }
    const bool background = tile.background != TileState::no_background;
    writer.put(static_cast<std::uint8_t>(background ? 1 : 0));
    if (background) {
      save_background(program_of(tile), backgrounds_[tile.background], other_steps_, writer);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    TileState& tile = tiles_[index];
    if (tile.role == plan::Placement::unused) {
      return;
    }
    restore_tile(tile, inboxes_, other_steps_, reader);
    if (!outputs_.empty()) {
      outputs_[index].first = reader.get<SimTime>();
      outputs_[index].last = reader.get<SimTime>();
    }
    unfinished_ -= finished(tile) ? 1 : 0;
    if (reader.get<std::uint8_t>() != 0) {
      tile.background = static_cast<std::uint32_t>(backgrounds_.size());
      backgrounds_.push_back(restore_background(program_of(tile), other_steps_, reader));
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
      if (tile.role != plan::Placement::unused && !finished(tile)) {
        lines.push_back(describe(members_[index], tile));
      }
    }
    return lines;
  }

  std::size_t resident_bytes() const override {
    return tiles_.capacity() * sizeof(TileState) + inboxes_.resident_bytes() +
           backgrounds_.capacity() * sizeof(Background) + outputs_.capacity() * sizeof(Outputs);
  }

 private:
  const plan::Program& program_of(const TileState& tile) const {
    return plan_.stages[plan_.placement.role(tile.role).stage].program;
  }
  const plan::ScheduleEntry& entry_of(const TileState& tile) const {
    return program_of(tile).schedule[tile.entry];
  }
  const Instruction& current(const TileState& tile) const {
    return program_of(tile).instructions(entry_of(tile))[tile.instruction];
  }
  bool finished(const TileState& tile) const { return tile.iteration == setup_.iterations; }

  // Runs instructions until one has to wait or the program ends.
  void advance(pdes::Context& context, TileState& tile) {
    const plan::Program& program = program_of(tile);
    while (true) {
      if (tile.entry == program.schedule.size()) {
        tile.entry = 0;
        ++tile.iteration;
        if (finished(tile)) {
          tile.since = context.now();
          --unfinished_;
          return;
        }
      }
      const auto& code = program.instructions(program.schedule[tile.entry]);
      if (tile.instruction == code.size()) {
        note_output(context, tile);
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
        if (!plan_.leads(instruction.group, tile.role)) {
          return true;
        }
        send(context, peer_of(tile, instruction.peer), Bytes(instruction.bytes),
             boundary_tag(tile, instruction));
        return true;
      case Action::receive:
        return !plan_.leads(instruction.group, tile.role) || receive(context, tile, instruction);
      case Action::collective:
        start_steps(context, tile, tile.transfer, instruction, false);
        return run_steps(context, tile, tile.transfer, instruction, false);
      case Action::elapse:
        context.send_self(SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes)),
                          port(elapsed_kind), std::uint32_t{0});
        return false;
      case Action::start_collective:
      case Action::start_elapse:
        start_background(context, tile, instruction);
        return true;
      case Action::wait_collectives:
        return tile.background == TileState::no_background ||
               !backgrounds_[tile.background].holds(instruction.bytes);
      case Action::read:
      case Action::write: {
        const std::uint32_t bit = std::uint32_t{1} << instruction.slot;
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
    if (activity != Activity::bubble) {
      tile.time_ps[static_cast<std::size_t>(activity)] += (end - start).ps();
    }
    if (setup_.observer != nullptr) {
      const plan::Pass& pass = entry_of(tile).pass;
      setup_.observer->on_operator(
          {context.self(), current(tile).name, pass.phase, activity, pass.micro_batch, start, end});
    }
  }

  // Inference: what leaves the last stage is a result.
  void note_output(const pdes::Context& context, const TileState& tile) {
    if (outputs_.empty() || plan_.placement.role(tile.role).stage + 1 != plan_.stages.size()) {
      return;
    }
    Outputs& outputs = outputs_[context.index()];
    outputs.last = context.now();
    if (outputs.first == SimTime::zero()) {
      outputs.first = context.now();
    }
  }

  void send(pdes::Context& context, EntityId target, Bytes bytes, std::uint16_t tag) {
    network::send(context, setup_.network_slot, target, bytes, port(arrival_kind), tag,
                  static_cast<std::uint64_t>(context.now().ps()));
  }

  // Takes a boundary tensor that is here already (true), or notes whom the tile waits for.
  bool receive(pdes::Context& context, TileState& tile, const Instruction& instruction) {
    const EntityId source = peer_of(tile, instruction.peer);
    const auto message = inboxes_.take(tile.inbox, source, boundary_tag(tile, instruction));
    if (!message) {
      tile.transfer.awaited = source;
      return false;
    }
    report(context, instruction.traffic, Bytes(instruction.bytes), *message);
    return true;
  }

  void report(pdes::Context& context, plan::Traffic traffic, Bytes bytes,
              const InboxPool::Message& message) {
    if (setup_.observer != nullptr) {
      setup_.observer->on_message({message.source, context.self(), traffic, bytes, message.sent,
                                   message.arrived, context.now()});
    }
  }

  // What one arrival asks for several times: who the tile is in its group, and one step.
  struct Looked {
    std::uint32_t role = plan::Placement::unused;
    const Instruction* instruction = nullptr;
    collective::Member self = 0;
    std::uint32_t at = 0;
    collective::Step step;
  };

  const collective::Step& step_of(const TileState& tile, const Instruction& instruction,
                                  std::uint32_t step) {
    const bool same = looked_.role == tile.role && looked_.instruction == &instruction;
    if (!same || looked_.at != step) {
      if (!same) {
        looked_.role = tile.role;
        looked_.instruction = &instruction;
        looked_.self = plan_.member_of(instruction.group, tile.role);
      }
      looked_.at = step;
      looked_.step =
          plan_.step(instruction.group, static_cast<collective::Kind>(instruction.collective),
                     looked_.self, Bytes(instruction.bytes), step);
    }
    return looked_.step;
  }

  // Of the collective that was looked up last.
  EntityId member(const TileState& tile, plan::Group group, collective::Member number) const {
    return plan_.placement.tile(plan_.role_beside(group, looked_.self, number, tile.role));
  }

  EntityId peer_of(const TileState& tile, plan::Peer peer) const {
    plan::Role role = plan_.placement.role(tile.role);
    role.stage = plan_.peer_stage(role.stage, peer);
    return plan_.placement.tile(role);
  }

  // Names the micro-batch and the chunk that receives.
  std::uint16_t boundary_tag(const TileState& tile, const Instruction& instruction) const {
    const plan::Pass& pass = entry_of(tile).pass;
    const auto stages = static_cast<std::uint32_t>(plan_.stages.size());
    const std::uint32_t stage = plan_.placement.role(tile.role).stage;
    std::uint32_t chunk = pass.chunk;
    if (instruction.action == Action::send) {
      if (instruction.peer == plan::Peer::next_stage) {
        chunk += stage + 1 == stages ? 1 : 0;
      } else {
        chunk -= stage == 0 ? 1 : 0;
      }
    }
    return tag_of(instruction.traffic, false, pass.micro_batch * plan_.strategy.chunks + chunk);
  }

  std::uint32_t steps_of(const Instruction& instruction) const {
    return plan_.steps_of_channel(instruction.group,
                                  static_cast<collective::Kind>(instruction.collective));
  }

  // `at` is the step of a collective, those of all channels counted one by one.
  void send_step(pdes::Context& context, const TileState& tile, const Instruction& instruction,
                 bool background, std::uint32_t at) {
    const collective::Step& step = step_of(tile, instruction, at);
    if (step.send_to != collective::nobody) {
      send(context, member(tile, instruction.group, step.send_to), step.send_bytes,
           tag_of(instruction.traffic, background, at));
    }
  }

  void start_steps(pdes::Context& context, const TileState& tile, Transfer& transfer,
                   const Instruction& instruction, bool background) {
    const std::uint32_t channels = channels_of(instruction);
    transfer.step = 0;
    if (channels > 1) {
      if (transfer.others == Transfer::no_place) {
        transfer.others = static_cast<std::uint32_t>(other_steps_.size());
        other_steps_.emplace_back();
      }
      other_steps_[transfer.others].assign(channels - 1, 0);
    }
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
      send_step(context, tile, instruction, background, channel);
    }
  }

  // Goes on with a collective, in each channel by itself, until all wait (false) or are over.
  bool run_steps(pdes::Context& context, TileState& tile, Transfer& transfer,
                 const Instruction& instruction, bool background) {
    transfer.awaited = EntityId::none();
    bool over = true;
    for (std::uint32_t channel = 0; channel < channels_of(instruction); ++channel) {
      over = run_channel(context, tile, transfer, channel, instruction, background) && over;
    }
    return over;
  }

  bool run_channel(pdes::Context& context, TileState& tile, Transfer& transfer,
                   std::uint32_t channel, const Instruction& instruction, bool background) {
    while (step_in(transfer, channel) < steps_of(instruction)) {
      const std::uint32_t at = place_in(transfer, channel, instruction);
      const collective::Step& step = step_of(tile, instruction, at);
      if (step.receive_from != collective::nobody) {
        const EntityId source = member(tile, instruction.group, step.receive_from);
        const auto message =
            inboxes_.take(tile.inbox, source, tag_of(instruction.traffic, background, at));
        if (!message) {
          transfer.awaited = source;
          return false;
        }
        report(context, instruction.traffic, step.receive_bytes, *message);
      }
      end_step(context, tile, transfer, channel, instruction, background);
    }
    return true;
  }

  std::uint32_t place_in(Transfer& transfer, std::uint32_t channel,
                         const Instruction& instruction) {
    return step_in(transfer, channel) * channels_of(instruction) + channel;
  }

  std::uint32_t channels_of(const Instruction& instruction) const {
    return plan_.group(instruction.group).channels;
  }

  std::uint32_t& step_in(Transfer& transfer, std::uint32_t channel) {
    return channel == 0 ? transfer.step : other_steps_[transfer.others][channel - 1];
  }

  void end_step(pdes::Context& context, const TileState& tile, Transfer& transfer,
                std::uint32_t channel, const Instruction& instruction, bool background) {
    if (++step_in(transfer, channel) < steps_of(instruction)) {
      send_step(context, tile, instruction, background, place_in(transfer, channel, instruction));
    }
  }

  // Takes a message that a channel of the collective waits for, and goes past that step.
  bool take_step(pdes::Context& context, const TileState& tile, Transfer& transfer,
                 const Instruction& instruction, bool background,
                 const InboxPool::Message& message) {
    for (std::uint32_t channel = 0; channel < channels_of(instruction); ++channel) {
      const std::uint32_t at = place_in(transfer, channel, instruction);
      if (step_in(transfer, channel) == steps_of(instruction) ||
          message.tag != tag_of(instruction.traffic, background, at)) {
        continue;
      }
      const collective::Step& step = step_of(tile, instruction, at);
      if (step.receive_from != collective::nobody &&
          member(tile, instruction.group, step.receive_from) == message.source) {
        report(context, instruction.traffic, step.receive_bytes, message);
        end_step(context, tile, transfer, channel, instruction, background);
        return true;
      }
    }
    return false;
  }

  void start_background(pdes::Context& context, TileState& tile, const Instruction& instruction) {
    if (tile.background == TileState::no_background) {
      tile.background = static_cast<std::uint32_t>(backgrounds_.size());
      backgrounds_.emplace_back();
    }
    Background& background = backgrounds_[tile.background];
    background.queue.push_back(&instruction);
    if (background.queue.size() == 1) {
      start_beside(context, tile, background);
      run_background(context, tile);
    }
  }

  void run_background(pdes::Context& context, TileState& tile) {
    Background& background = backgrounds_[tile.background];
    while (!background.queue.empty() && run_beside(context, tile, background)) {
      background.queue.erase(background.queue.begin());
      if (!background.queue.empty()) {
        start_beside(context, tile, background);
      }
    }
  }

  // One that only takes time has two steps: started, over.
  void start_beside(pdes::Context& context, const TileState& tile, Background& background) {
    const Instruction& instruction = *background.queue.front();
    if (instruction.action != Action::start_elapse) {
      start_steps(context, tile, background.transfer, instruction, true);
      return;
    }
    background.transfer.awaited = EntityId::none();
    background.transfer.step = 1;
    context.send_self(SimTime::from_ps(static_cast<std::int64_t>(instruction.bytes)),
                      port(elapsed_beside_kind), std::uint32_t{0});
  }

  // The one at the front; true when it is over.
  bool run_beside(pdes::Context& context, TileState& tile, Background& background) {
    const Instruction& instruction = *background.queue.front();
    return instruction.action == Action::start_elapse
               ? background.transfer.step == 2
               : run_steps(context, tile, background.transfer, instruction, true);
  }

  void take_access(pdes::Context& context, TileState& tile, std::uint16_t slot) {
    tile.accesses &= ~(std::uint32_t{1} << slot);
    if (finished(tile)) {
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
    if (!finished(tile) && tile.transfer.awaited.valid() && go_on(context, tile, message)) {
      return;
    }
    if (tile.background != TileState::no_background) {
      Background& background = backgrounds_[tile.background];
      if (!background.queue.empty() && background.transfer.awaited.valid() &&
          take_step(context, tile, background.transfer, *background.queue.front(), true, message)) {
        go_on_beside(context, tile);
        return;
      }
    }
    inboxes_.put(tile.inbox, message);
  }

  // Of an exchange between stages, what comes first may not have been sent yet.
  void book_until_sent(pdes::Context& context, TileState& tile, const InboxPool::Message& message) {
    const SimTime under_way = std::max(tile.since, message.sent);
    book(context, tile, Activity::bubble, tile.since, under_way);
    tile.since = under_way;
  }

  // Whether it is the message that the current instruction waits for; if so, goes on.
  bool go_on(pdes::Context& context, TileState& tile, const InboxPool::Message& message) {
    const Instruction& instruction = current(tile);
    if (instruction.action != Action::receive) {
      const bool first = tile.transfer.step == 0;
      if (!take_step(context, tile, tile.transfer, instruction, false, message)) {
        return false;
      }
      if (first && activity_of(instruction.traffic) == Activity::pipeline) {
        book_until_sent(context, tile, message);
      }
      if (run_steps(context, tile, tile.transfer, instruction, false)) {
        finish_instruction(context, tile, activity_of(instruction.traffic));
        advance(context, tile);
      }
      return true;
    }
    if (tile.transfer.awaited != message.source || message.tag != boundary_tag(tile, instruction)) {
      return false;
    }
    tile.transfer.awaited = EntityId::none();
    report(context, instruction.traffic, Bytes(instruction.bytes), message);
    book_until_sent(context, tile, message);
    finish_instruction(context, tile, Activity::pipeline);
    advance(context, tile);
    return true;
  }

  // The background has got further: so may a tile that waits for it.
  void go_on_beside(pdes::Context& context, TileState& tile) {
    const Background& background = backgrounds_[tile.background];
    const plan::Traffic traffic = background.queue.front()->traffic;
    run_background(context, tile);
    if (finished(tile)) {
      return;
    }
    const Instruction& instruction = current(tile);
    if (instruction.action == Action::wait_collectives && !background.holds(instruction.bytes)) {
      finish_instruction(context, tile, activity_of(traffic));
      advance(context, tile);
    }
  }

  std::string describe(EntityId entity, const TileState& tile) const {
    const machine::Topology& topology = *setup_.machine.topology;
    const plan::Role role = plan_.placement.role(tile.role);
    const plan::Pass& pass = entry_of(tile).pass;
    const Instruction& instruction = current(tile);
    std::string text = topology.node_name(entity) + " (stage " + std::to_string(role.stage) +
                       ", replica " + std::to_string(role.replica) + ", shard " +
                       std::to_string(role.shard) + ") waits in '" + plan_.names[instruction.name] +
                       "' of " + to_string(pass.phase) + ", micro-batch " +
                       std::to_string(pass.micro_batch) + ", since " + to_string(tile.since);
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
  OtherSteps other_steps_;
  Looked looked_;
  std::vector<Outputs> outputs_;  // by tile, in inference
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
    case Activity::context:
      return "context";
    case Activity::expert:
      return "expert";
    case Activity::pipeline:
      return "pipeline";
    case Activity::memory:
      return "memory";
    case Activity::bubble:
      return "bubble";
    case Activity::host:
      return "host";
    case Activity::collective:
      return "collective";
    case Activity::message:
      return "message";
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
