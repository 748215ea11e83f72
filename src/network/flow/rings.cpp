// Rings of the `flow` network that nobody disturbs: the messages of a ring (ring.hpp) are flows
// until the hub finds that they have the links of the ring to themselves; then the ring is lumped,
// and no event is spent on them but for the last of each chain. A message that comes to a link of
// the ring makes flows of them again, each where it would have been.

#include <algorithm>
#include <array>
#include <utility>

#include "flow/hub.hpp"

namespace tessera::network {
namespace {

constexpr std::uint32_t longest_pause = 64;  // steps

// Messages of two sizes over an edge.
void book(const Ring::Edge& edge, const std::array<std::uint64_t, 2>& sizes,
          const Ring::BySize& messages, LinkAccount& account) {
  for (std::size_t size = 0; size < sizes.size(); ++size) {
    const auto times = static_cast<std::int64_t>(messages[size]);
    for (const std::uint32_t link : edge.links) {
      account.carried_alone(link, sizes[size] * messages[size], edge.flow[size] * times);
    }
  }
}

}  // namespace

void FlowHub::join(const RingPart& part, EntityId member) {
  const auto [entry, is_new] = rings_.try_emplace(part.word);
  if (is_new) {
    entry->second.ring = Ring(part.members, part.steps, has_turns());
  }
  entry->second.ring.join(part.member, member);
}

// Whether it is a message that is known to have come, of a ring that is lumped.
bool FlowHub::comes_late(Message& message) {
  if (rings_.empty()) {
    return false;
  }
  const auto found = rings_.find(message.word);
  if (found == rings_.end()) {
    return false;
  }
  auto& [ring, port, is_prepared, pause, tries] = found->second;
  message.chain = ring.chain_on(ring.member_at(message.source), message.tag);
  if (ring.is_lumped()) {
    ring.comes_late(message.chain);
    return true;
  }
  port = message.port;
  ring.comes(message.chain, message.bytes);
  return false;
}

void FlowHub::resume(pdes::Context& context, const OfRing& of) {
  Message message = message_of(of.word, of.place, of.number);
  if (!comes_late(message)) {
    begin_message(context, message);
  }
}

FlowHub::Message FlowHub::message_of(std::uint64_t word, std::uint32_t chain,
                                     std::uint32_t step) const {
  const KnownRing& known = rings_.at(word);
  const std::uint32_t edge = known.ring.edge_of(chain, step);
  Message message;
  message.source = known.ring.node(edge);
  message.target = known.ring.node(edge + 1);
  message.bytes = known.ring.chain(chain).bytes;
  message.word = word;
  message.tag = static_cast<std::uint16_t>(step);
  message.port = known.port;
  message.active = true;
  message.in_turn = has_turns();
  message.chain = chain;
  return message;
}

void FlowHub::end_step(pdes::Context& context, const Message& message) {
  Ring& ring = rings_.at(message.word).ring;
  const std::uint32_t step = ring.chain(message.chain).steps_over;
  ring.ends(message.chain, context.now());
  if (message.chain == 0) {
    to_lump_.push_back(message.word);  // once in a step is often enough
  }
  tell(context, message, ring, step);
}

void FlowHub::tell(pdes::Context& context, const Message& message, Ring& ring, std::uint32_t step) {
  deliver(context, message, ring.tell(ring.edge_of(message.chain, step), step));
  if (ring.is_over()) {
    if (ring.is_lumped()) {
      mark(ring, 0);
    }
    take_use(ring);
    rings_.erase(message.word);
  }
}

// None if two of them share a link.
std::vector<Ring::Edge> FlowHub::edges_of(const Ring& ring) {
  std::vector<Ring::Edge> edges;
  std::vector<std::uint32_t> links;
  const std::array<std::uint64_t, 2> sizes = ring.sizes();
  for (std::uint32_t member = 0; member < ring.members(); ++member) {
    const Route& route = shared_.routes.find(ring.node(member), ring.node(member + 1));
    Ring::Edge& edge = edges.emplace_back();
    edge.links = route.links;
    edge.wait = shared_.options.overheads.message + route.latency;
    edge.rate = flows_.rate_alone(route.links, weight_on(route), shared_.limit_of({}, route));
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      edge.flow[size] = FluidFlows::duration(static_cast<double>(sizes[size]), edge.rate);
    }
    links.insert(links.end(), route.links.begin(), route.links.end());
  }
  std::sort(links.begin(), links.end());
  const bool is_disjoint = std::adjacent_find(links.begin(), links.end()) == links.end();
  return is_disjoint ? edges : std::vector<Ring::Edge>{};
}

void FlowHub::prepare(KnownRing& known) {
  known.is_prepared = true;
  known.ring.set_edges(edges_of(known.ring));
}

void FlowHub::mark(const Ring& ring, std::uint64_t word) {
  for (const Ring::Edge& edge : ring.edges()) {
    for (const std::uint32_t link : edge.links) {
      lumped_on_[link] = word;
    }
  }
}

void FlowHub::lump_if_alone(pdes::Context& context, std::uint64_t word) {
  const auto found = rings_.find(word);
  if (found == rings_.end() || !found->second.ring.has_begun()) {
    return;
  }
  KnownRing& known = found->second;
  Ring& ring = known.ring;
  if (!known.is_prepared) {
    prepare(known);
  }
  if (known.pause > 0) {
    --known.pause;
    return;
  }
  if (!ring.is_regular() || !is_alone(ring, word)) {
    return;
  }
  std::vector<Ring::Chain> flowing;
  for (std::uint32_t number = 0; number < ring.members(); ++number) {
    if (ring.chain(number).is_flowing) {
      flowing.push_back(ring.chain(number));
    }
  }
  if (!ring.lump(context.now())) {
    known.pause = longest_pause;
    return;
  }
  for (const Ring::Chain& chain : flowing) {
    for (const std::uint32_t link : flows_.route(chain.flow)) {
      account_.taken_out(link, chain.begun_at);
    }
    flows_.take_out(chain.flow);
    if (has_turns()) {
      turns_.clear(messages_[chain.flow].pair());
    }
    free_flow(chain.flow);
  }
  mark(ring, word);
  plan(context, word, ring);
}

// Whether flows and links are as if there was nothing but the ring.
bool FlowHub::is_alone(const Ring& ring, std::uint64_t word) const {
  const std::vector<std::uint32_t> flowing = ring.flowing();
  for (std::uint32_t edge = 0; edge < ring.members(); ++edge) {
    for (const std::uint32_t link : ring.edges()[edge].links) {
      if (flows_.flows_on(link) != flowing[edge] || lumped_on_[link] != 0) {
        return false;
      }
    }
  }
  for (std::uint32_t number = 0; number < ring.members(); ++number) {
    const Ring::Chain& chain = ring.chain(number);
    if (!chain.is_flowing) {
      continue;
    }
    const std::vector<Message> waiting = turns_.waiting(messages_[chain.flow].pair());
    if (flows_.end(chain.flow) != ring.end_alone(number) ||
        std::any_of(waiting.begin(), waiting.end(),
                    [word](const Message& message) { return message.word != word; })) {
      return false;
    }
  }
  return true;
}

// The next events of a lumped ring.
void FlowHub::plan(pdes::Context& context, std::uint64_t word, const Ring& ring) const {
  const SimTime known_until = ring.known_until();
  if (known_until < SimTime::never()) {
    context.send_self(known_until - context.now(), own_port(flow_port::look_ahead),
                      OfRing{word, 0, ring.lumps()});
    return;
  }
  for (std::uint32_t edge = 0; edge < ring.members(); ++edge) {
    if (!ring.is_told(edge)) {
      context.send_self(ring.last_end(edge) - context.now(), own_port(flow_port::chain_over),
                        OfRing{word, edge, ring.lumps()});
    }
  }
}

// The ring of an event, if it is still lumped as when that was planned.
Ring* FlowHub::lumped(pdes::Context& context, const OfRing& of) {
  const auto found = rings_.find(of.word);
  if (found == rings_.end() || !found->second.ring.is_lumped() ||
      found->second.ring.lumps() != of.number) {
    context.pass();
    return nullptr;
  }
  return &found->second.ring;
}

void FlowHub::look_ahead(pdes::Context& context, const OfRing& of) {
  Ring* const ring = lumped(context, of);
  if (ring == nullptr) {
    return;
  }
  if (ring->look_ahead()) {
    plan(context, of.word, *ring);
  } else {
    disband(context, of.word);
  }
}

void FlowHub::end_chain(pdes::Context& context, const OfRing& of) {
  if (Ring* const ring = lumped(context, of)) {
    const std::uint32_t step = ring->steps() - 1;
    tell(context, message_of(of.word, ring->chain_on(of.place, step), step), *ring, step);
  }
}

// A message is about to begin.
void FlowHub::disturb_rings(pdes::Context& context, const Message& message) {
  if (lumped_on_.empty()) {
    return;
  }
  const Route& route = shared_.routes.find(message.source, message.target);
  std::vector<std::uint64_t> words;
  for (const std::uint32_t link : route.links) {
    if (lumped_on_[link] != 0) {
      words.push_back(lumped_on_[link]);
    }
  }
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (const std::uint64_t word : words) {
    disband(context, word);
  }
}

void FlowHub::disband(pdes::Context& context, std::uint64_t word) {
  KnownRing& known = rings_.at(word);
  Ring& ring = known.ring;
  mark(ring, 0);
  std::vector<Ring::Resumed> all;
  ring.disband(context.now(), [&all](const Ring::Resumed& one) { all.push_back(one); });
  take_use(ring);
  known.tries = std::min(known.tries + 1, longest_pause);
  known.pause = known.tries;
  for (const Ring::Resumed& one : all) {
    const Message message = message_of(word, one.chain, one.step);
    switch (one.state) {
      case Ring::Resumed::State::flows: {
        if (has_turns()) {
          turns_.take(message.pair(), message);
        }
        const std::uint32_t flow = add_flow(message, one.begin);
        flows_.resume(flow, one.begin, ring.edges()[ring.edge_of(one.chain, one.step)].rate,
                      one.end);
        ring.begins(one.chain, flow, one.begin);
        break;
      }
      case Ring::Resumed::State::waits:
        turns_.take(message.pair(), message);
        break;
      case Ring::Resumed::State::comes:
        context.send_self(one.begin - context.now(), own_port(flow_port::resumed),
                          OfRing{word, one.chain, one.step});
        break;
      case Ring::Resumed::State::over:
        tell(context, message, ring, one.step);  // of several, the last may free the ring
        break;
    }
  }
  ask_to_share(context);
}

// Messages that were no flows, booked where they would have been.
void FlowHub::take_use(Ring& ring) {
  const std::array<std::uint64_t, 2> sizes = ring.sizes();
  ring.take_use([&](const Ring::Edge& edge, const Ring::BySize& over, const Ring::BySize& sent) {
    shared_.carried.messages_taken += sent[0] + sent[1];
    shared_.carried.bytes_taken += sent[0] * sizes[0] + sent[1] * sizes[1];
    shared_.carried.bytes_delivered += over[0] * sizes[0] + over[1] * sizes[1];
    shared_.hops += (sent[0] + sent[1]) * edge.links.size();
    book(edge, sizes, over, account_);
  });
}

void FlowHub::add_lumped(LinkAccount& account, SimTime end) const {
  for (const auto& entry : rings_) {
    if (!entry.second.ring.is_lumped()) {
      continue;
    }
    Ring ring = entry.second.ring;
    ring.disband(end, [&](const Ring::Resumed& one) {
      if (one.state == Ring::Resumed::State::flows) {
        const Ring::Edge& edge = ring.edges()[ring.edge_of(one.chain, one.step)];
        const SimTime since = end - one.begin;
        for (const std::uint32_t link : edge.links) {
          account.carried_alone(
              link, static_cast<std::uint64_t>(edge.rate * static_cast<double>(since.ps())), since);
        }
      }
    });
    ring.take_use([&](const Ring::Edge& edge, const Ring::BySize& over, const Ring::BySize&) {
      book(edge, ring.sizes(), over, account);
    });
  }
}

void FlowHub::save_rings(pdes::StateWriter& writer) const {
  writer.put(static_cast<std::uint64_t>(rings_.size()));
  for (const auto& [word, known] : rings_) {
    writer.put(word);
    known.ring.save(writer);
    writer.put(known.port);
    writer.put(static_cast<std::uint8_t>(known.is_prepared ? 1 : 0));
    writer.put(known.pause);
    writer.put(known.tries);
  }
}

void FlowHub::restore_rings(pdes::StateReader& reader) {
  for (auto left = reader.get<std::uint64_t>(); left > 0; --left) {
    const auto word = reader.get<std::uint64_t>();
    KnownRing& known = rings_[word];
    known.ring = Ring::restored(reader);
    known.port = reader.get<std::uint8_t>();
    const bool was_prepared = reader.get<std::uint8_t>() != 0;
    known.pause = reader.get<std::uint32_t>();
    known.tries = reader.get<std::uint32_t>();
    if (was_prepared) {
      prepare(known);
    }
    if (known.ring.is_lumped()) {
      mark(known.ring, word);
    }
  }
}

}  // namespace tessera::network
