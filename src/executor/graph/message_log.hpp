// Every message of graphs' sends, receives and collectives, for observers that hear of them.
//
// Networks carry no time of sending, and the bits that travel with a message of a graph name what
// it belongs to. So the sender tells the receiver in an event of its own, which takes the time that
// an empty message takes on an idle machine and changes nothing there: results are the same whether
// messages are heard of or not. Messages of one name are taken in the order sent.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "graph/messages.hpp"
#include "tessera/executor/graph/graph.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

// Messages of one name at their receiver, of each of which something is not known yet.
struct UnreportedMessages {
  struct Sent {
    EntityId source;
    std::uint32_t unused = 0;
    std::uint64_t bytes = 0;
    SimTime time;
  };
  struct Taken {
    SimTime arrived;
    SimTime time;
  };
  std::vector<Sent> sent;
  std::vector<SimTime> arrived;  // not taken
  std::vector<Taken> taken;

  bool empty() const { return sent.empty() && arrived.empty() && taken.empty(); }
};
using UnreportedById = std::map<MessageId, UnreportedMessages>;

class GraphMessageLog {
 public:
  // `note` is where receivers are told, at every NPU.
  GraphMessageLog(const GraphSetup& setup, pdes::Port note)
      : setup_(setup),
        is_on_(setup.observer != nullptr && setup.observer->hears_messages_of_graphs()),
        note_(note) {}
  bool is_on() const { return is_on_; }

  // At the sender; `id` names the message in the bits that travel with it.
  void send(pdes::Context& context, EntityId target, const MessageId& id, Bytes bytes) const;
  // At the receiver: the note of that, the message itself, and its use.
  void hear(const pdes::Context& context, UnreportedById& all, const pdes::Event& event) const;
  void arrive(const pdes::Context& context, UnreportedById& all, const MessageId& id) const;
  void take(const pdes::Context& context, UnreportedById& all, const MessageId& id) const;
  // In place of `take`: the message is not heard of, and was not sent here with `send`.
  void forget(UnreportedById& all, const MessageId& id) const;

 private:
  struct Note {
    std::uint64_t word = 0;
    std::uint64_t bytes = 0;
    SimTime sent;
  };
  void report(const pdes::Context& context, UnreportedById& all, const MessageId& id) const;

  const GraphSetup& setup_;
  bool is_on_;
  pdes::Port note_;
};

void save(const UnreportedById& all, pdes::StateWriter& writer);
UnreportedById restore_unreported(pdes::StateReader& reader);

}  // namespace tessera::executor
