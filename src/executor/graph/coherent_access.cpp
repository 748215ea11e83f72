#include "graph/coherent_access.hpp"

#include <algorithm>

#include "graph/messages.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

enum class Leg : std::uint8_t { opening, down, up, completion, snoop, answer };

}  // namespace

// What a message is, in the 64 bits that travel with it.
struct CoherentAccess::Word {
  static constexpr unsigned npu_bits = 24;
  static constexpr unsigned lines_bits = 35;

  Leg kind = Leg::opening;
  bool stores = false;
  std::uint32_t npu = 0;  // that accesses
  std::uint64_t lines = 0;

  static Word of(std::uint64_t word) {
    const auto part = [word](unsigned from, unsigned bits) {
      return word >> from & ((std::uint64_t{1} << bits) - 1);
    };
    return {static_cast<Leg>(part(lines_bits + npu_bits + 1, 3)),
            part(lines_bits + npu_bits, 1) != 0,
            static_cast<std::uint32_t>(part(lines_bits, npu_bits)), part(0, lines_bits)};
  }
  std::uint64_t bits() const {
    return of_memory | static_cast<std::uint64_t>(kind) << (lines_bits + npu_bits + 1) |
           std::uint64_t{stores} << (lines_bits + npu_bits) | std::uint64_t{npu} << lines_bits |
           lines;
  }
  Word as(Leg other) const { return {other, stores, npu, lines}; }
};

std::uint32_t CoherentAccess::begin(pdes::Context& context, const Access& access,
                                    SimTime& asked_until) {
  const memory::Coherence& coherence = *setup_.work.coherence;
  const auto [npu, bytes, stores, tag] = access;
  const Word word{Leg::opening, stores, npu, coherence.lines_of(bytes)};
  if (word.lines >> Word::lines_bits != 0 || npu >> Word::npu_bits != 0) {
    throw ModelError("a coherent access of " + std::to_string(word.lines) + " lines by NPU " +
                         std::to_string(npu) + ": 2^35 lines and 2^24 NPUs are the most",
                     context.now(), context.self());
  }
  if (word.lines == 0) {
    return 0;
  }
  const memory::Lines lines = coherence.split(word.lines, stores);
  const memory::AccessMessages messages = coherence.messages(lines);
  const EntityId device = setup_.work.remote_of[npu];
  const SimTime begin = std::max(context.now(), asked_until);
  const SimTime wait = begin - context.now();
  asked_until = begin + coherence.asking_time(word.lines, round_trip(word));
  std::uint32_t parts = 0;
  if (messages.opening > Bytes()) {
    send(context, device, messages.opening, word, tag, false, wait);
    ++parts;
  }
  if (messages.up > Bytes()) {
    send(context, device, messages.up, word.as(Leg::up), tag, true, wait);
    ++parts;
  }
  return parts + (coherence.owner_messages(lines) ? coherence.owners() : 0);
}

bool CoherentAccess::answer(pdes::Context& context, const network::Arrival& arrival,
                            std::uint16_t tag) {
  const memory::Coherence& coherence = *setup_.work.coherence;
  const Word word = Word::of(arrival.word);
  const memory::Lines lines = coherence.split(word.lines, word.stores);
  const memory::AccessMessages messages = coherence.messages(lines);
  const EntityId npu = setup_.work.nodes[word.npu];
  const auto delay = [&] {
    return coherence.options().device_latency +
           coherence.owner_delay(lines, trips(word.npu, word.stores).owner);
  };
  switch (word.kind) {
    case Leg::opening:
      snoop(context, word, tag);
      send(context, npu, messages.down, word.as(Leg::down), tag, true, delay());
      return true;
    case Leg::up:
      if (messages.opening == Bytes()) {
        snoop(context, word, tag);
      }
      send(context, npu, messages.completion, word.as(Leg::completion), tag, false, delay());
      return true;
    case Leg::snoop:
      send(context, arrival.source, coherence.owner_messages(lines)->answer, word.as(Leg::answer),
           tag, true);
      return true;
    case Leg::answer:  // the owner's data goes on within `down`
      send(context, npu, coherence.header_message(), word.as(Leg::completion), tag, false);
      return true;
    case Leg::down:
    case Leg::completion:
      return false;
  }
  throw InternalError("a message of memory outside its list");
}

void CoherentAccess::send(pdes::Context& context, EntityId to, Bytes bytes, const Word& word,
                          std::uint16_t tag, bool at_limit, SimTime delay) {
  network::SendRequest request{to, arrival_, {}, bytes.count(), word.bits()};
  if (at_limit) {
    const auto limit = setup_.work.coherence->limit(bytes, word.lines, round_trip(word));
    request.limit = limit ? network::RateLimit(*limit) : network::RateLimit();
  }
  network::send_after(context, setup_.network_slot, delay, request, tag);
}

// Their answers take as long as all lines, and go beside the data.
void CoherentAccess::snoop(pdes::Context& context, const Word& word, std::uint16_t tag) {
  const memory::Coherence& coherence = *setup_.work.coherence;
  const auto messages = coherence.owner_messages(coherence.split(word.lines, word.stores));
  for (std::uint32_t number = 0; messages && number < coherence.owners(); ++number) {
    send(context, owner(word.npu, number), messages->snoop, word.as(Leg::snoop), tag, false);
  }
}

EntityId CoherentAccess::owner(std::uint32_t npu, std::uint32_t number) const {
  return setup_.work.nodes[(npu + 1 + number) % setup_.work.npus()];
}

const CoherentAccess::Trips& CoherentAccess::trips(std::uint32_t npu, bool stores) {
  const auto [entry, is_new] = trips_.try_emplace({npu, stores});
  Trips& found = entry->second;
  if (!is_new) {
    return found;
  }
  const memory::Coherence& coherence = *setup_.work.coherence;
  const Bytes header = coherence.header_message();
  const Bytes line = coherence.line_message();
  const EntityId self = setup_.work.nodes[npu];
  const EntityId device = setup_.work.remote_of[npu];
  found.access = setup_.message_time(self, device, stores ? line : header) +
                 coherence.options().device_latency +
                 setup_.message_time(device, self, stores ? header : line);
  if (coherence.has_directory()) {
    for (std::uint32_t number = 0; number < coherence.owners(); ++number) {
      const EntityId other = owner(npu, number);
      found.owner = std::max(found.owner, setup_.message_time(device, other, header) +
                                              setup_.message_time(other, device, line));
    }
  }
  return found;
}

SimTime CoherentAccess::round_trip(const Word& word) {
  const memory::Coherence& coherence = *setup_.work.coherence;
  const Trips& known = trips(word.npu, word.stores);
  return known.access +
         coherence.owner_delay(coherence.split(word.lines, word.stores), known.owner);
}

}  // namespace tessera::executor
