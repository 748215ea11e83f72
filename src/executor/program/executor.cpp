#include "tessera/executor/program/executor.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "collectives/steps.hpp"
#include "program/backgrounds.hpp"
#include "program/bookings.hpp"
#include "program/host_links.hpp"
#include "program/memory_tracker.hpp"
#include "program/places.hpp"
#include "program/program_outlook.hpp"
#include "program/standing.hpp"
#include "program/tile_messages.hpp"
#include "program/tile_reports.hpp"
#include "program/tile_state.hpp"
#include "tessera/compute/messages.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/large_pages.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/plan/issue.hpp"

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

constexpr std::uint16_t access_slots = 64;  // of programs at most: bits of a mask

class ProgramExecutor final : public Executor {
 public:
  explicit ProgramExecutor(const ExecutorSetup& setup)
      : setup_(setup),
        plan_(setup.plan),
        members_(setup.members),
        places_(plan_, setup.iterations),
        tiles_(members_.size()),
        messages_(setup, port(arrival_kind)),
        steps_(plan_, inboxes_, messages_),
        backgrounds_(places_, steps_, port(elapsed_beside_kind)),
        host_links_(plan_, members_.size()),
        bookings_(plan_, places_, setup.observer, members_.size()),
        memory_(plan_, setup.machine.framework),
        standing_(places_, tiles_, messages_, steps_, backgrounds_, host_links_) {
    for (std::size_t index = 0; index < members_.size(); ++index) {
      const std::uint32_t role = plan_.placement.role_number(members_[index]);
      if (role != plan::Placement::unused && plan_.is_simulated(role)) {
        tiles_[index].role = role;
        ++unfinished_;
      }
    }
    if (setup_.outlook.regions != nullptr) {
      std::vector<std::uint32_t> roles;
      for (const TileState& tile : tiles_) {
        roles.push_back(tile.role);
      }
      outlook_.emplace(setup_, roles);
      messages_.tell(&*outlook_);
    }
  }

  void start(pdes::Context& context) override {
    if (tiles_[context.index()].role != plan::Placement::unused) {
      context.send_self(SimTime::zero(), pdes::Port(setup_.slot, begin_kind), std::uint32_t{0});
    }
  }

  pdes::StateArray state_array() const override { return {tiles_.data(), sizeof(TileState)}; }

  const char* name() const override { return "programs of tiles"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return outlook_ ? std::optional(outlook_->outlook(rank, moment, standing_)) : std::nullopt;
  }

  void take_in(pdes::Event& event) override {
    if (outlook_ && event.port.kind() == arrival_kind) {
      const auto arrival = event.as<network::Arrival>();
      outlook_->expect(EntityId(event.target),
                       {arrival.source, event.tag, arrival.word, event.time});
    }
  }

  // Replies to what is executed, by tags beyond those of programs, are not for the tile.
  bool expect(const network::Progress& message) override {
    const bool is_of_core =
        message.deliver.component() == setup_.memory_slot && message.tag >= access_slots;
    return outlook_ && !is_of_core &&
           outlook_->take_in(message, port(arrival_kind), setup_.memory_slot);
  }

  void follow(const network::Progress& message) override {
    if (message.deliver.component() == setup_.memory_slot) {
      outlook_->follow_access(message.target, message.tag, message.earliest);
      return;
    }
    outlook_->follow(message.target, {message.source, message.tag, message.word, message.earliest});
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    if (outlook_) {
      outlook_->touch(context.index());
    }
    TileState& tile = tiles_[context.index()];
    switch (event.port.kind()) {
      case begin_kind:
        if (outlook_) {
          outlook_->begin(context.index());
        }
        advance(context, tile);
        break;
      case executed_kind:
        flops_done_ += plan_.operations[places_.current(tile).operation].flops.count();
        finish_instruction(context, tile, Activity::compute);
        advance(context, tile);
        break;
      case accessed_kind:
        take_access(context, tile, event.tag);
        break;
      case elapsed_kind:
        finish_instruction(context, tile,
                           places_.current(tile).action == Action::wait_copies
                               ? Activity::memory
                               : Bookings::activity_of(places_.current(tile).traffic));
        backgrounds_.end_in_program(context, tile);
        advance(context, tile);
        break;
      case elapsed_beside_kind:
        if (backgrounds_.elapse(context, tile)) {
          go_on_beside(context, tile);
        }
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
      TileResult result = result_of(members_[index], tile, places_.finished(tile));
      bookings_.put_outputs(static_cast<std::uint32_t>(index), result);
      visit(result);
    }
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const TileState& tile = tiles_[index];
    if (tile.role == plan::Placement::unused) {
      return;
    }
    save_tile(tile, inboxes_, steps_.others(), writer);
    bookings_.save(index, writer);
    backgrounds_.save(tile, places_.program(tile), writer);
    host_links_.save(index, writer);
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    TileState& tile = tiles_[index];
    if (tile.role == plan::Placement::unused) {
      return;
    }
    restore_tile(tile, inboxes_, steps_.others(), reader);
    memory_.restore(tile);
    bookings_.restore(index, reader);
    unfinished_ -= places_.finished(tile) ? 1 : 0;
    backgrounds_.restore(tile, places_.program(tile), reader);
    host_links_.restore(index, reader);
    if (outlook_) {
      outlook_->begin(index);
    }
  }

  void save_totals(pdes::StateWriter& writer) const override {
    writer.put(instructions_done_);
    writer.put(flops_done_);
    messages_.save(writer);
  }
  void add_totals(pdes::StateReader& reader) override {
    instructions_done_ += reader.get<std::uint64_t>();
    flops_done_ += reader.get<std::uint64_t>();
    messages_.add(reader);
  }
  // A tile that stands for others sends what they send.
  std::vector<Balance> balances() const override {
    std::vector<Balance> all;
    if (plan_.strategy.aggregation == plan::Aggregation::none) {
      all = messages_.balances();
    }
    all.push_back({"FLOPs of the plan and done (modulo 2^64)",
                   flops_of_programs(plan_, tiles_) * setup_.iterations, flops_done_});
    return all;
  }

  std::optional<SentBytes> sent_bytes() const override { return messages_.sent_bytes(); }

  void visit_peaks(const std::function<void(std::uint32_t, const plan::MemoryWalk::Peak&)>& visit)
      const override {
    memory_.visit(visit);
  }

  std::uint64_t unfinished() const override { return unfinished_; }
  std::uint64_t instructions_done() const override { return instructions_done_; }

  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (std::size_t index = 0; index < members_.size() && lines.size() < most; ++index) {
      const TileState& tile = tiles_[index];
      if (tile.role != plan::Placement::unused && !places_.finished(tile)) {
        lines.push_back(waiting_line(plan_, *setup_.machine.topology, members_[index], tile));
      }
    }
    return lines;
  }

  std::size_t resident_bytes() const override {
    return tiles_.capacity() * sizeof(TileState) + inboxes_.resident_bytes() +
           backgrounds_.resident_bytes() + host_links_.resident_bytes() +
           bookings_.resident_bytes() + memory_.resident_bytes();
  }

 private:
  // Runs instructions until one has to wait or the program ends.
  void advance(pdes::Context& context, TileState& tile) {
    const plan::Program& program = places_.program(tile);
    while (true) {
      if (tile.entry == program.schedule.size()) {
        tile.entry = 0;
        ++tile.iteration;
        if (places_.finished(tile)) {
          tile.since = context.now();
          --unfinished_;
          return;
        }
      }
      const auto& code = program.instructions(program.schedule[tile.entry]);
      if (tile.instruction == code.size()) {
        bookings_.note_output(context, tile);
        memory_.end_pass(context.self(), tile, context.now(), setup_.observer);
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

  compute::Issue issue_now(const TileState& tile) const {
    const plan::Program& program = places_.program(tile);
    return plan::issue_of(program, tile.entry, tile.instruction);
  }

  // Starts an instruction; true when there is nothing to wait for.
  bool begin(pdes::Context& context, TileState& tile, const Instruction& instruction) {
    switch (instruction.action) {
      case Action::execute:
        compute::execute(context, setup_.compute_slot,
                         setup_.plan.first_operation + instruction.operation, port(executed_kind),
                         0, issue_now(tile),
                         {backgrounds_.until(tile), backgrounds_.arriving(tile)});
        return false;
      case Action::send:
        if (!plan_.leads(instruction.group, tile.role)) {
          return true;
        }
        messages_.send(context, places_.peer(tile, instruction.peer), Bytes(instruction.bytes),
                       places_.boundary_tag(tile, instruction), true);
        return true;
      case Action::receive:
        return !plan_.leads(instruction.group, tile.role) || receive(context, tile, instruction);
      case Action::collective:
        steps_.start(context, {tile, tile.transfer, instruction});
        return steps_.run(context, {tile, tile.transfer, instruction});
      case Action::elapse:
        context.send_self(backgrounds_.begin_in_program(context.now(), tile, instruction),
                          port(elapsed_kind), std::uint32_t{0});
        return false;
      case Action::start_collective:
      case Action::start_elapse:
        backgrounds_.start(context, tile, instruction);
        return true;
      case Action::wait_collectives:
        return !backgrounds_.holds(tile, instruction.bytes);
      case Action::read:
      case Action::write: {
        const std::uint32_t bit = std::uint32_t{1} << instruction.slot;
        ensure((tile.accesses & bit) == 0, "a memory slot used twice at a time");
        tile.accesses |= bit;
        if (outlook_) {
          outlook_->begin_access(context.index(), instruction.slot, Bytes(instruction.bytes),
                                 context.now());
        }
        memory::access(context, setup_.memory_slot, Bytes(instruction.bytes),
                       instruction.action == Action::write, port(accessed_kind), instruction.slot);
        return true;
      }
      case Action::wait_access:
        return (tile.accesses & instruction.bytes) == 0;
      case Action::start_copy:
        host_links_.start(context.index(), context.now(), instruction,
                          places_.entry(tile).pass_of(instruction));
        return true;
      case Action::wait_copies: {
        const SimTime end = host_links_.end(context.index(), instruction.bytes);
        if (end <= context.now()) {
          return true;
        }
        context.send_self(end - context.now(), port(elapsed_kind), std::uint32_t{0});
        return false;
      }
    }
    throw InternalError("an action outside its list");
  }

  // The current instruction has ended: books its time and goes past it.
  void finish_instruction(pdes::Context& context, TileState& tile, Activity activity) {
    bookings_.book(context, tile, activity, tile.since, context.now());
    ++tile.instruction;
    ++instructions_done_;
  }

  // Takes a boundary tensor that is here already (true), or notes whom the tile waits for.
  bool receive(pdes::Context& context, TileState& tile, const Instruction& instruction) {
    const EntityId source = places_.peer(tile, instruction.peer);
    const auto message = inboxes_.take(tile.inbox, source, places_.boundary_tag(tile, instruction));
    if (!message) {
      tile.transfer.awaited = source;
      return false;
    }
    messages_.report(context, instruction.traffic, Bytes(instruction.bytes), *message);
    return true;
  }

  void take_access(pdes::Context& context, TileState& tile, std::uint16_t slot) {
    if (outlook_) {
      outlook_->end_access(context.index(), slot);
    }
    tile.accesses &= ~(std::uint32_t{1} << slot);
    if (places_.finished(tile)) {
      return;
    }
    const Instruction& instruction = places_.current(tile);
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
    if (outlook_) {
      outlook_->arrive(context.index(), arrival.source, tag, arrival.word);
    }
    if (!places_.finished(tile) && tile.transfer.awaited.valid() && go_on(context, tile, message)) {
      return;
    }
    if (backgrounds_.take(context, tile, message)) {
      go_on_beside(context, tile);
      return;
    }
    inboxes_.put(tile.inbox, message);
  }

  // Whether it is the message that the current instruction waits for; if so, goes on.
  bool go_on(pdes::Context& context, TileState& tile, const InboxPool::Message& message) {
    const Instruction& instruction = places_.current(tile);
    if (instruction.action != Action::receive) {
      const bool first = tile.transfer.step == 0;
      if (!steps_.take(context, {tile, tile.transfer, instruction}, message)) {
        return false;
      }
      if (first && Bookings::activity_of(instruction.traffic) == Activity::pipeline) {
        bookings_.book_until_sent(context, tile, message);
      }
      if (steps_.run(context, {tile, tile.transfer, instruction})) {
        finish_instruction(context, tile, Bookings::activity_of(instruction.traffic));
        advance(context, tile);
      }
      return true;
    }
    if (tile.transfer.awaited != message.source ||
        message.tag != places_.boundary_tag(tile, instruction)) {
      return false;
    }
    tile.transfer.awaited = EntityId::none();
    messages_.report(context, instruction.traffic, Bytes(instruction.bytes), message);
    bookings_.book_until_sent(context, tile, message);
    finish_instruction(context, tile, Activity::pipeline);
    advance(context, tile);
    return true;
  }

  // The background has got further: so may a tile that waits for it.
  void go_on_beside(pdes::Context& context, TileState& tile) {
    const plan::Traffic traffic = backgrounds_.traffic(tile);
    backgrounds_.run(context, tile);
    if (places_.finished(tile)) {
      return;
    }
    const Instruction& instruction = places_.current(tile);
    if (instruction.action == Action::wait_collectives &&
        !backgrounds_.holds(tile, instruction.bytes)) {
      finish_instruction(context, tile, Bookings::activity_of(traffic));
      advance(context, tile);
    }
  }

  pdes::Port port(unsigned kind) const { return pdes::Port(setup_.slot, kind); }

  ExecutorSetup setup_;
  const plan::Plan& plan_;
  std::span<const EntityId> members_;
  ProgramPlaces places_;
  LargePageVector<TileState> tiles_;
  InboxPool inboxes_;
  TileMessages messages_;
  CollectiveSteps steps_;
  Backgrounds backgrounds_;
  HostLinks host_links_;
  Bookings bookings_;
  MemoryTracker memory_;
  ProgramStanding standing_;
  std::optional<ProgramOutlook> outlook_;  // of a run on several ranks
  std::uint64_t unfinished_ = 0;
  std::uint64_t instructions_done_ = 0;
  std::uint64_t flops_done_ = 0;  // modulo 2^64
};

}  // namespace

std::unique_ptr<Executor> make_executor(const ExecutorSetup& setup) {
  return std::make_unique<ProgramExecutor>(setup);
}

std::size_t bytes_per_tile() {
  return sizeof(TileState);
}

}  // namespace tessera::executor
