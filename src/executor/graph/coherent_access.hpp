// Coherent accesses in motion: the messages of memory/coherent/coherence.hpp among the NPU that
// accesses, the device and the owners, the NPUs next in number. Nobody keeps any state of an access
// but the NPU that accesses, which counts its parts.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tessera/executor/graph/graph.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/engine.hpp"

namespace tessera::executor {

class CoherentAccess {
 public:
  // `arrival` is where its messages are delivered to, at every node.
  CoherentAccess(const GraphSetup& setup, pdes::Port arrival) : setup_(setup), arrival_(arrival) {}

  // An access to the memory of an NPU.
  struct Access {
    std::uint32_t npu = 0;
    Bytes bytes;
    bool stores = false;
    std::uint16_t tag = 0;
  };
  // Sends what opens it, once `asked_until`, when the NPU has asked for the lines of those before,
  // which it moves on. Returns how many arrivals end it, each with its tag: 0 if local memory has
  // it all.
  std::uint32_t begin(pdes::Context& context, const Access& access, SimTime& asked_until);
  // At the device or an owner. False at the NPU that accesses, of which then a part is over.
  bool answer(pdes::Context& context, const network::Arrival& arrival, std::uint16_t tag);

 private:
  struct Word;
  // Of one line, on an idle machine.
  struct Trips {
    SimTime access;
    SimTime owner;  // from device to owner and back; of the farthest
  };

  void send(pdes::Context& context, EntityId to, Bytes bytes, const Word& word, std::uint16_t tag,
            bool at_limit, SimTime delay = SimTime::zero());
  void snoop(pdes::Context& context, const Word& word, std::uint16_t tag);
  EntityId owner(std::uint32_t npu, std::uint32_t number) const;
  // From end to end, without what owners add.
  const Trips& trips(std::uint32_t npu, bool stores);
  SimTime round_trip(const Word& word);

  const GraphSetup& setup_;
  pdes::Port arrival_;
  std::map<std::pair<std::uint32_t, bool>, Trips> trips_;  // found once each
};

}  // namespace tessera::executor
