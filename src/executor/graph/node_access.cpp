#include "graph/node_access.hpp"

#include "graph/messages.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

// What a message is, in the 64 bits that travel with it: `of_memory`, whether it stores, and the
// bytes.
struct Word {
  static constexpr unsigned bytes_bits = 62;

  bool stores = false;
  std::uint64_t bytes = 0;

  static Word of(std::uint64_t word) {
    return {(word >> bytes_bits & 1) != 0, word & ((std::uint64_t{1} << bytes_bits) - 1)};
  }
  std::uint64_t bits() const {
    ensure(bytes >> bytes_bits == 0, "an access whose size has its bits");
    return of_memory | std::uint64_t{stores} << bytes_bits | bytes;
  }
};

constexpr Bytes request = Bytes(64);  // assumed: as of memory channels

}  // namespace

std::optional<SimTime> NodeAccess::begin(pdes::Context& context, std::uint32_t npu, Bytes bytes,
                                         bool stores, std::uint16_t tag) const {
  const RemoteAccess& choice = setup_.work.options.remote;
  const EntityId self = context.self();
  const EntityId memory = setup_.work.remote_of[npu];
  if (!stores && !choice.requests) {
    return setup_.message_time(memory, self, bytes);
  }
  network::send(context, setup_.network_slot, memory, stores ? bytes : request, arrival_, tag,
                Word{stores, bytes.count()}.bits());
  if (!stores || choice.acknowledged) {
    return std::nullopt;
  }
  return setup_.message_time(self, memory, bytes) - setup_.message_time(self, memory, Bytes());
}

void NodeAccess::answer(pdes::Context& context, const network::Arrival& arrival,
                        std::uint16_t tag) const {
  const Word asked = Word::of(arrival.word);
  if (asked.stores && !setup_.work.options.remote.acknowledged) {
    return;
  }
  network::send(context, setup_.network_slot, arrival.source,
                asked.stores ? request : Bytes(asked.bytes), arrival_, tag, arrival.word);
}

}  // namespace tessera::executor
