#include "tessera/memory/coherent/coherent_memory.hpp"

#include <map>
#include <utility>

#include "coherent/device.hpp"
#include "coherent/requester.hpp"
#include "tessera/core/error.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::memory {
namespace {

// Port kinds beside access_kind. A piece and a reply have their lines as the word.
constexpr unsigned piece_kind = 1;   // at the device
constexpr unsigned lookup_kind = 2;  // at the device, from itself
constexpr unsigned snoop_kind = 3;   // at an owner; word: see Snoop
constexpr unsigned answer_kind = 4;  // at the device; the same word
constexpr unsigned served_kind = 5;  // at the device, from its channel
constexpr unsigned reply_kind = 6;   // at the accelerator

std::uint64_t word_of(const Lines& lines) {
  return lines.writes << 32U | lines.reads;
}
Lines lines_of(std::uint64_t word) {
  return {word & 0xFFFFFFFFU, word >> 32U};
}
std::uint32_t narrow(std::uint64_t lines) {
  return static_cast<std::uint32_t>(lines);
}

// What a device asks of an owner: so many messages, with the data of so many lines in the answer.
struct Snoop {
  static constexpr unsigned count_bits = 20;

  std::uint64_t messages = 0;
  std::uint64_t with_data = 0;
  std::uint32_t awaited = 0;  // number of who waits

  std::uint64_t word() const {
    ensure(messages >> count_bits == 0 && awaited >> (64 - 2 * count_bits) == 0,
           "messages to an owner whose number has its bits");
    return std::uint64_t{awaited} << 2 * count_bits | with_data << count_bits | messages;
  }
  static Snoop of(std::uint64_t word) {
    constexpr std::uint64_t mask = (std::uint64_t{1} << count_bits) - 1;
    return {word & mask, word >> count_bits & mask,
            static_cast<std::uint32_t>(word >> 2 * count_bits)};
  }
};

class CoherentMemoryOfRank final : public CoherentMemory {
 public:
  explicit CoherentMemoryOfRank(CoherentSetup setup) : setup_(std::move(setup)) {
    std::map<EntityId, std::uint32_t> index_of;
    for (std::uint32_t index = 0; index < setup_.members.size(); ++index) {
      index_of[setup_.members[index]] = index;
    }
    for (std::uint32_t group = 0; group < setup_.groups.size(); ++group) {
      const CoherentGroup& of = setup_.groups[group];
      for (std::uint32_t number = 0; number < of.nodes.size(); ++number) {
        places_[of.nodes[number]] = {group, number};
        if (const auto here = index_of.find(of.nodes[number]); here != index_of.end()) {
          requesters_[here->second];
        }
        if (const auto here = index_of.find(of.devices[number]); here != index_of.end()) {
          devices_[here->second];
        }
      }
    }
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case access_kind:
        open(context, event.as<AccessRequest>(), event.tag);
        break;
      case piece_kind:
        take_piece(context, event.as<network::Arrival>(), event.tag);
        break;
      case lookup_kind:
        look_up(context, event.as<CoherentRequest>());
        break;
      case snoop_kind:
        answer(context, event.as<network::Arrival>());
        break;
      case answer_kind:
        take_answer(context, event.as<network::Arrival>());
        break;
      case served_kind:
        take_served(context, event.tag);
        break;
      default:
        take_reply(context, event.as<network::Arrival>(), event.tag);
        break;
    }
  }

  const char* name() const override { return "coherent memory"; }
  CoherentTotals totals() const override { return totals_; }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    if (const auto found = requesters_.find(index); found != requesters_.end()) {
      found->second.save(writer);
    }
    if (const auto found = devices_.find(index); found != devices_.end()) {
      found->second.save(writer);
    }
  }
  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (const auto found = requesters_.find(index); found != requesters_.end()) {
      found->second.restore(reader);
    }
    if (const auto found = devices_.find(index); found != devices_.end()) {
      found->second.restore(reader);
    }
  }
  void save_totals(pdes::StateWriter& writer) const override { writer.put(totals_); }
  void add_totals(pdes::StateReader& reader) override {
    const auto more = reader.get<CoherentTotals>();
    totals_.lines_asked += more.lines_asked;
    totals_.lines_delivered += more.lines_delivered;
    totals_.bytes_to_read += more.bytes_to_read;
    totals_.bytes_read += more.bytes_read;
    totals_.bytes_to_write += more.bytes_to_write;
    totals_.bytes_written += more.bytes_written;
  }

 private:
  // Of an accelerator.
  struct Place {
    std::uint32_t group = 0;
    std::uint32_t number = 0;
  };

  pdes::Port port(unsigned kind) const { return {setup_.slot, kind}; }
  const CoherenceOptions& options() const { return setup_.coherence.options(); }

  // At the accelerator.
  void open(pdes::Context& context, const AccessRequest& request, std::uint16_t tag) {
    const std::uint64_t lines = setup_.coherence.lines_of(Bytes(request.bytes));
    if (lines == 0) {
      context.send_self(SimTime::zero(), request.done, std::uint32_t{0}, tag);
      return;
    }
    totals_.lines_asked += lines;
    requesters_.at(context.index())
        .open(setup_.coherence.split(lines, request.write), setup_.coherence.piece_lines(lines),
              request.done, tag);
    ask(context);
  }

  void ask(pdes::Context& context) {
    const auto [group, number] = places_.at(context.self());
    const EntityId device = setup_.groups[group].devices[number];
    CoherentRequester& requester = requesters_.at(context.index());
    while (const auto piece = requester.next(options().outstanding)) {
      send(context, device, {piece->lines.count(), piece->lines.writes}, piece_kind, piece->tag,
           word_of(piece->lines));
    }
  }

  void take_reply(pdes::Context& context, const network::Arrival& arrival, std::uint16_t tag) {
    const std::uint64_t lines = lines_of(arrival.word).count();
    totals_.lines_delivered += lines;
    if (const auto done = requesters_.at(context.index()).take(lines, tag)) {
      context.send_self(SimTime::zero(), *done, std::uint32_t{0}, tag);
    }
    ask(context);
  }

  // At the device.
  void take_piece(pdes::Context& context, const network::Arrival& arrival, std::uint16_t tag) {
    const Lines lines = lines_of(arrival.word);
    const CoherentRequest request{arrival.source, narrow(lines.reads), narrow(lines.writes), tag};
    if (options().device_latency > SimTime::zero()) {
      context.send_self(options().device_latency, port(lookup_kind), request);
    } else {
      look_up(context, request);
    }
  }

  void look_up(pdes::Context& context, const CoherentRequest& request) {
    CoherentDevice& device = devices_.at(context.index());
    const CoherentSteps steps = device.shares.steps_of(options(), {request.reads, request.writes});
    if (steps.messages > 0) {
      snoop(context, device, request, steps);
    }
    serve(context, device, request, steps.now);
  }

  // Messages are shared out among the owners, so that all get as many in the long run.
  void snoop(pdes::Context& context, CoherentDevice& device, const CoherentRequest& request,
             const CoherentSteps& steps) {
    const auto [group, number] = places_.at(request.npu);
    const std::vector<EntityId>& nodes = setup_.groups[group].nodes;
    const std::uint32_t owners = setup_.coherence.owners();
    AwaitedOwners awaited{
        {request.npu, narrow(steps.later.reads), narrow(steps.later.writes), request.tag},
        narrow(steps.forwarded),
        narrow(steps.written_back),
        narrow(std::min<std::uint64_t>(owners, steps.messages))};
    const std::uint32_t place = device.awaited.add(awaited);
    for (std::uint32_t i = 0; i < awaited.answers; ++i) {
      const std::uint32_t owner = (device.turn + i) % owners;
      const Snoop asked{share_of(steps.messages, owners, i), share_of(steps.with_data, owners, i),
                        place};
      send(context, nodes[(number + 1 + owner) % nodes.size()], {asked.messages, 0}, snoop_kind, 0,
           asked.word());
    }
    device.turn = narrow((device.turn + steps.messages) % owners);
  }
  static std::uint64_t share_of(std::uint64_t all, std::uint32_t parts, std::uint32_t part) {
    return all / parts + (part < all % parts ? 1 : 0);
  }

  // At an owner.
  void answer(pdes::Context& context, const network::Arrival& arrival) {
    const Snoop asked = Snoop::of(arrival.word);
    send(context, arrival.source, {asked.messages, asked.with_data}, answer_kind, 0, arrival.word);
  }

  // At the device.
  void take_answer(pdes::Context& context, const network::Arrival& arrival) {
    CoherentDevice& device = devices_.at(context.index());
    const std::uint32_t place = Snoop::of(arrival.word).awaited;
    if (--device.awaited[place].answers > 0) {
      return;
    }
    const AwaitedOwners awaited = device.awaited.remove(place);
    if (awaited.forwarded > 0) {
      reply(context, awaited.later, {awaited.forwarded, 0});
    }
    serve(context, device, awaited.later, {awaited.later.reads, awaited.later.writes});
    if (awaited.written_back > 0) {
      begin(context, device,
            {{awaited.later.npu, 0, 0, awaited.later.tag}, awaited.written_back, 1});
    }
  }

  void serve(pdes::Context& context, CoherentDevice& device, const CoherentRequest& of,
             const Lines& lines) {
    if (lines.reads > 0) {
      begin(context, device, {{of.npu, narrow(lines.reads), 0, of.tag}, narrow(lines.reads), 0});
    }
    if (lines.writes > 0) {
      begin(context, device, {{of.npu, 0, narrow(lines.writes), of.tag}, narrow(lines.writes), 1});
    }
  }

  void begin(pdes::Context& context, CoherentDevice& device, const ChannelOperation& operation) {
    if (const auto number = device.begin(operation)) {
      const Bytes bytes = options().line * operation.lines;
      (operation.write != 0 ? totals_.bytes_to_write : totals_.bytes_to_read) += bytes.count();
      access_for(context, setup_.memory_slot, operation.of.npu, bytes, operation.write != 0,
                 port(served_kind), *number);
    }
  }

  void take_served(pdes::Context& context, std::uint16_t number) {
    CoherentDevice& device = devices_.at(context.index());
    const ChannelOperation done = device.under_way.remove(number);
    const Bytes bytes = options().line * done.lines;
    (done.write != 0 ? totals_.bytes_written : totals_.bytes_read) += bytes.count();
    if (done.of.reads + done.of.writes > 0) {
      reply(context, done.of, {done.of.reads, done.of.writes});
    }
    if (const auto next = device.next()) {
      begin(context, device, *next);
    }
  }

  void reply(pdes::Context& context, const CoherentRequest& to, const Lines& lines) {
    send(context, to.npu, {lines.count(), lines.reads}, reply_kind,
         static_cast<std::uint16_t>(to.tag), word_of(lines));
  }

  struct Content {
    std::uint64_t headers = 0;
    std::uint64_t data_lines = 0;
  };
  void send(pdes::Context& context, EntityId to, const Content& content, unsigned kind,
            std::uint16_t tag, std::uint64_t word) {
    network::send(context, setup_.network_slot, to,
                  setup_.coherence.on_wire(content.headers, content.data_lines), port(kind), tag,
                  word, network::connection_flag);
  }

  CoherentSetup setup_;
  std::map<EntityId, Place> places_;                       // of all accelerators
  std::map<std::uint32_t, CoherentRequester> requesters_;  // by index, as the next
  std::map<std::uint32_t, CoherentDevice> devices_;
  CoherentTotals totals_;
};

}  // namespace

std::unique_ptr<CoherentMemory> make_coherent_memory(CoherentSetup setup) {
  return std::make_unique<CoherentMemoryOfRank>(std::move(setup));
}

}  // namespace tessera::memory
