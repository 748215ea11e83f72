// The `dram` memory: DRAM at nodes of the machine, with banks, rows and timing, shared by tiles.
//
// An access is cut at multiples of `transfer` into pieces. Each is a message to the memory's node:
// a request for a read, the data for a write. There it is cut into bursts, which wait for their
// channel (memory/dram/channel.hpp) and its `port`, if it has one; when the last is done, the data
// or an acknowledgement goes back. A tile has at most `window` bytes under way, as a DMA engine
// has; further pieces follow those that come back. `latency` is added to each piece, for what lies
// between network and controller.
//
// Where an access has no address, it follows the one before in a region of the tile's own: 1/256 of
// the capacity, less where more tiles than that share a memory (memory_map.hpp), and wraps around
// there. Regions start in different banks.
//
// Which memory: with `spread: nearest` the tile's nearest channel of `machine.dram`, where
// addresses of a tile mean that memory's own. With `all` one address space over all of them, in
// blocks of `transfer`, block i at memory i modulo their number; with `hash: ipoly` (and a power of
// two of them) at the memory of its IPOLY hash. `bandwidth` and `latency` of `machine.dram` are for
// estimates; here the device counts.

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dram/accesses.hpp"
#include "dram/dram.hpp"
#include "dram/memory_map.hpp"
#include "leaving_replies.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::memory {
namespace {

// Port kinds beside access_kind.
constexpr unsigned dram_piece_kind = 1;  // at the memory; word: see piece_word
constexpr unsigned wake_kind = 2;        // at the memory, from itself: something may be done
constexpr unsigned dram_reply_kind = 3;  // at the tile; word: bytes of the piece

// What a memory had done when the last bin ended.
struct Done {
  DramCounts counts;
  SimTime busy;
};

// The memory at a node of this rank.
struct LocalMemory {
  std::uint32_t index = 0;    // of its node in this rank's arrays
  std::uint32_t channel = 0;  // of the machine
  DramStack stack;
  SimTime wakes = SimTime::never();  // the first time of those planned
  Done before;
  SimTime longest_wait;    // of the run
  SimTime longest_in_bin;  // since the last bin ended
};

// Of accesses of this rank so far.
struct AccessTotals {
  AskedBytes asked;
  AskedBytes opened;  // what their pieces ask for, see OpenAccesses::open
};

class DramMemory final : public Memory {
 public:
  DramMemory(const MemorySetup& setup, const DramParameters& parameters)
      : machine_(setup.machine),
        parameters_(parameters),
        map_(machine_, parameters_),
        members_(setup.members),
        slot_(setup.slot),
        network_slot_(setup.network_slot),
        accesses_(setup.members.size()),
        memory_at_(setup.members.size(), none) {
    std::vector<std::uint32_t> channel_at(machine_.topology->nodes(), none);
    for (std::uint32_t channel = 0; channel < machine_.channels.size(); ++channel) {
      channel_at[machine_.channels[channel].node.value()] = channel;
    }
    for (std::uint32_t index = 0; index < setup.members.size(); ++index) {
      const std::uint32_t channel = channel_at[setup.members[index].value()];
      if (channel != none) {
        memory_at_[index] = static_cast<std::uint32_t>(memories_.size());
        memories_.push_back({index,
                             channel,
                             DramStack(parameters_.spec_of(machine_, channel), parameters_.port,
                                       parameters_.latency),
                             SimTime::never(),
                             {},
                             {},
                             {}});
      }
    }
    if (setup.regions != nullptr) {
      replies_.emplace(setup, parameters_.latency);
      asks_for_more_.resize(setup.members.size());
    }
  }

  const char* name() const override { return "memory dram"; }

  // When a piece is done is known only once it is: those that are here hold back whoever waits for
  // what leaves.
  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return replies_ ? std::optional(replies_->outlook(rank, moment.next)) : std::nullopt;
  }
  void expect(const network::Progress& message) override {
    if (replies_ && message.deliver.kind() == dram_piece_kind) {
      replies_->expect(message.target, message.source, message.earliest);
    }
  }
  void take_in(pdes::Event& event) override {
    if (replies_ && event.port.kind() == dram_piece_kind) {
      replies_->expect(EntityId(event.target), event.as<network::Arrival>().source, event.time);
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case access_kind:
        begin(context, event);
        break;
      case dram_piece_kind:
        take(context, event);
        break;
      case wake_kind:
        wake(context);
        break;
      default:
        take_reply(context, event);
        break;
    }
  }

  void pass_boundary(SimTime boundary) override {
    for (LocalMemory& memory : memories_) {
      memory.stack.catch_up(boundary);
    }
    if (!bin_sink_) {
      return;
    }
    const SimTime span = std::max(SimTime::zero(), boundary - bin_begin_);
    for (LocalMemory& memory : memories_) {
      // Bursts count with their commands: what their data needs beyond the bin is the next one's.
      const Done now{memory.stack.counts(),
                     std::min(memory.stack.busy(), memory.before.busy + span)};
      if (now.counts.reads + now.counts.writes !=
              memory.before.counts.reads + memory.before.counts.writes ||
          now.busy != memory.before.busy || memory.longest_in_bin > SimTime::zero()) {
        bin_sink_(use(memory, bin_begin_, boundary, now, memory.before, memory.longest_in_bin));
      }
      memory.before = now;
      memory.longest_in_bin = SimTime::zero();
    }
    bin_begin_ = boundary;
  }

  void visit_channels(SimTime end, const ChannelUseSink& sink) const override {
    for (const LocalMemory& memory : memories_) {
      const Done now{memory.stack.counts(), memory.stack.busy()};
      if (now.counts.reads + now.counts.writes > 0) {
        sink(use(memory, SimTime::zero(), end, now, {}, memory.longest_wait));
      }
    }
  }

  void report_bins(ChannelUseSink sink) override { bin_sink_ = std::move(sink); }

  std::vector<Balance> balances() const override {
    DramTaken taken;
    DramCounts counts;
    std::array<std::uint64_t, 2> waiting{};
    for (const LocalMemory& memory : memories_) {
      counts += memory.stack.counts();
      const auto in_stack = memory.stack.waiting();
      for (std::size_t kind = 0; kind < waiting.size(); ++kind) {
        taken.bytes[kind] += memory.stack.taken().bytes[kind];
        taken.bursts[kind] += memory.stack.taken().bursts[kind];
        waiting[kind] += in_stack[kind];
      }
    }
    return {{"bytes of pieces to read asked for and taken", totals_.opened.read, taken.bytes[0]},
            {"bytes of pieces to write sent and taken", totals_.opened.written, taken.bytes[1]},
            {"bursts to read taken, and read, answered or waiting", taken.bursts[0],
             counts.reads + counts.answered_reads + waiting[0]},
            {"bursts to write taken, and written, answered or waiting", taken.bursts[1],
             counts.writes + counts.answered_writes + waiting[1]}};
  }
  std::optional<AskedBytes> asked() const override { return totals_.asked; }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    accesses_[index].save(writer);
    if (memory_at_[index] != none) {
      const LocalMemory& memory = memories_[memory_at_[index]];
      memory.stack.save(writer);
      writer.put(memory.wakes);
      writer.put(memory.before);
      writer.put(memory.longest_wait);
      writer.put(memory.longest_in_bin);
      writer.put(bin_begin_);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    accesses_[index].restore(reader);
    note_asking(index, members_[index]);
    if (memory_at_[index] != none) {
      LocalMemory& memory = memories_[memory_at_[index]];
      memory.stack.restore(reader);
      if (replies_) {
        for (const EntityId requester : memory.stack.requesters()) {
          replies_->hold(members_[index], requester);
        }
      }
      memory.wakes = reader.get<SimTime>();
      memory.before = reader.get<Done>();
      memory.longest_wait = reader.get<SimTime>();
      memory.longest_in_bin = reader.get<SimTime>();
      bin_begin_ = reader.get<SimTime>();
    }
  }

  void save_totals(pdes::StateWriter& writer) const override { writer.put(totals_); }
  void add_totals(pdes::StateReader& reader) override {
    const auto more = reader.get<AccessTotals>();
    totals_.asked.read += more.asked.read;
    totals_.asked.written += more.asked.written;
    totals_.opened.read += more.opened.read;
    totals_.opened.written += more.opened.written;
  }

  std::size_t resident_bytes() const override {
    std::size_t bytes = accesses_.capacity() * sizeof(OpenAccesses) +
                        memory_at_.capacity() * sizeof(std::uint32_t) +
                        memories_.capacity() * sizeof(LocalMemory);
    for (const OpenAccesses& open : accesses_) {
      bytes += open.resident_bytes();
    }
    for (const LocalMemory& memory : memories_) {
      bytes += memory.stack.resident_bytes();
    }
    return bytes;
  }

 private:
  static constexpr std::uint32_t none = 0xFFFFFFFFU;

  // At the tile.
  void begin(pdes::Context& context, const pdes::Event& event) {
    const auto request = event.as<AccessRequest>();
    OpenAccesses& open = accesses_[context.index()];
    OpenAccess access;
    access.address = request.address.byte();
    access.to_ask = request.bytes;
    access.tag = event.tag;
    access.done = request.done;
    access.write = request.write ? 1 : 0;
    access.at_once = request.of.valid() ? 1 : 0;
    if (request.address.is_next()) {
      const EntityId of = request.of.valid() ? request.of : context.self();
      std::uint64_t& cursor = open.cursor_of(request.of);
      access.address = map_.region_address(of, context.self(), cursor);
      cursor = (cursor + request.bytes) % map_.region_bytes(of, context.self());
    }
    totals_.asked.add(request.write, request.bytes);
    totals_.opened.add(request.write, open.open(access));
    ask(context);
  }

  // Sends as many pieces as the window lets.
  void ask(pdes::Context& context) {
    OpenAccess access;
    std::uint64_t bytes = 0;
    while (accesses_[context.index()].next_piece(parameters_.transfer.count(),
                                                 parameters_.window.count(), access, bytes)) {
      const std::uint32_t memory = map_.memory_of(context.self(), access.address);
      const std::uint64_t word =
          piece_word(map_.local_address(access.address), bytes, access.write != 0);
      const EntityId node = machine_.channels[memory].node;
      if (replies_ && !replies_->leaves(context.self(), node)) {
        replies_->expect(node, context.self());
      }
      network::send(context, network_slot_, node,
                    access.write != 0 ? Bytes(bytes) : parameters_.request,
                    pdes::Port(slot_, dram_piece_kind), access.number, word);
    }
    note_asking(context.index(), context.self());
  }

  // Of who waits for pieces to come back before it sends others. Who promises spreads nothing.
  void note_asking(std::uint32_t index, EntityId tile) {
    const std::uint8_t more = accesses_[index].asks_for_more() ? 1 : 0;
    if (!replies_ || more == asks_for_more_[index]) {
      return;
    }
    asks_for_more_[index] = more;
    const EntityId node = machine_.channels[machine_.channel_of[tile.value()]].node;
    if (more != 0) {
      replies_->hold(tile, node);
    } else {
      replies_->let_go(tile, node);
    }
  }

  // At the memory.
  void take(pdes::Context& context, const pdes::Event& event) {
    const auto arrival = event.as<network::Arrival>();
    DramPiece piece = piece_of(arrival.word);
    piece.requester = arrival.source;
    piece.tag = event.tag;
    piece.arrived = context.now();
    if (replies_) {
      replies_->take(context.self(), piece.requester);
      replies_->hold(context.self(), piece.requester);
    }
    LocalMemory& memory = memory_here(context);
    memory.stack.take(piece);
    plan(context, memory);
  }

  void plan(pdes::Context& context, LocalMemory& memory) const {
    const SimTime due = memory.stack.due();
    if (due < memory.wakes) {
      memory.wakes = due;
      context.send_self(due - context.now(), pdes::Port(slot_, wake_kind), std::uint32_t{0});
    }
  }

  // Also when something else made it wake before.
  void wake(pdes::Context& context) {
    LocalMemory& memory = memory_here(context);
    if (memory.wakes == context.now()) {
      memory.wakes = SimTime::never();
    }
    memory.stack.advance(context.now());
    std::uint32_t place = memory.stack.take_finished(context.now());
    if (place == DramStack::none) {
      context.pass();
    }
    for (; place != DramStack::none; place = memory.stack.take_finished(context.now())) {
      reply(context, memory, place);
    }
    plan(context, memory);
  }

  void reply(pdes::Context& context, LocalMemory& memory, std::uint32_t place) {
    const DramPiece piece = memory.stack.release(place);
    const SimTime wait = context.now() - piece.arrived;
    if (replies_) {
      replies_->let_go(context.self(), piece.requester);
    }
    memory.longest_wait = std::max(memory.longest_wait, wait);
    memory.longest_in_bin = std::max(memory.longest_in_bin, wait);
    network::send(context, network_slot_, piece.requester,
                  piece.write != 0 ? parameters_.request : Bytes(piece.bytes),
                  pdes::Port(slot_, dram_reply_kind), static_cast<std::uint16_t>(piece.tag),
                  piece.bytes, network::answer_flag);
  }

  // At the tile: a piece is back, which lets others go.
  void take_reply(pdes::Context& context, const pdes::Event& event) {
    OpenAccess access;
    const auto arrival = event.as<network::Arrival>();
    if (accesses_[context.index()].close_piece(event.tag, arrival.word, access)) {
      context.send_self(SimTime::zero(), access.done, std::uint32_t{0}, access.tag);
    }
    ask(context);
  }

  LocalMemory& memory_here(const pdes::Context& context) {
    return memories_[memory_at_[context.index()]];
  }

  ChannelUse use(const LocalMemory& memory, SimTime begin, SimTime end, const Done& now,
                 const Done& before, SimTime longest) const {
    const Bytes burst = parameters_.spec_of(machine_, memory.channel).organization.burst;
    ChannelUse use;
    use.channel = memory.channel;
    use.node = machine_.channels[memory.channel].node;
    use.begin = begin;
    use.end = end;
    use.read = burst * (now.counts.reads - before.counts.reads);
    use.written = burst * (now.counts.writes - before.counts.writes);
    use.busy = now.busy - before.busy;
    use.longest_wait = longest;
    use.row_hits = now.counts.hits - before.counts.hits;
    use.row_misses = now.counts.misses - before.counts.misses;
    use.row_conflicts = now.counts.conflicts - before.counts.conflicts;
    return use;
  }

  const machine::Machine& machine_;
  const DramParameters& parameters_;  // of the model
  DramMemoryMap map_;
  std::span<const EntityId> members_;
  unsigned slot_;
  unsigned network_slot_;
  std::vector<OpenAccesses> accesses_;    // [local entities]
  std::vector<std::uint32_t> memory_at_;  // [local entities] in memories_, or none
  std::vector<LocalMemory> memories_;
  AccessTotals totals_;
  ChannelUseSink bin_sink_;
  SimTime bin_begin_;
  std::optional<LeavingReplies> replies_;    // of a run on several ranks
  std::vector<std::uint8_t> asks_for_more_;  // [local entities] of a run on several ranks
};

}  // namespace

std::unique_ptr<Memory> make_dram_memory(const MemorySetup& setup,
                                         const DramParameters& parameters) {
  return std::make_unique<DramMemory>(setup, parameters);
}

std::size_t dram_memory_bytes() {
  return sizeof(LocalMemory);
}

}  // namespace tessera::memory
