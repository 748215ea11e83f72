// Messages of a serving system, of which its outlook is told.
#pragma once

#include "tessera/executor/serving/serving.hpp"
#include "tessera/network/messages.hpp"

namespace tessera::executor {

// To the port `kind` of the executor at `target`.
inline void send_message(pdes::Context& context, const ServingSetup& setup, EntityId target,
                         Bytes bytes, unsigned kind, std::uint16_t tag, std::uint64_t word,
                         std::uint8_t flags = 0) {
  if (setup.on_sent) {
    setup.on_sent(context.self(), target, bytes, kind, tag, word, context.now());
  }
  network::send(context, setup.network_slot, target, bytes, pdes::Port(setup.slot, kind), tag, word,
                flags);
}

// The same of what a model's units hand to each other: data of the work, which summaries count.
inline void send_data(pdes::Context& context, const ServingSetup& setup, EntityId target,
                      Bytes bytes, unsigned kind, std::uint16_t tag, std::uint64_t word) {
  setup.sent->messages += bytes.count();
  send_message(context, setup, target, bytes, kind, tag, word);
}

}  // namespace tessera::executor
