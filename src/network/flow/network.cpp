#include "flow/network.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "tessera/core/error.hpp"

namespace tessera::network {
namespace {

constexpr SimTime tick = SimTime::from_ps(1);
constexpr double ps_per_second = 1e12;
constexpr unsigned port_bits = 8;

double bytes_per_ps(Bandwidth bandwidth) {
  return static_cast<double>(bandwidth.bytes_per_second()) / ps_per_second;
}

std::vector<double> capacities_of(const machine::Topology& topology) {
  std::vector<double> capacities;
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
      capacities.push_back(bytes_per_ps(
          topology.link_classes()[topology.link(EntityId(node), port).link_class].bandwidth));
    }
  }
  return capacities;
}

}  // namespace

FlowNetwork::FlowNetwork(const NetworkSetup& setup, const FlowOptions& options, SimTime ahead)
    : topology_(*setup.machine.topology),
      slot_(setup.slot),
      options_(options),
      ahead_(ahead),
      routing_(machine::make_routing(options.routing, topology_)),
      numbers_(topology_),
      hub_index_(static_cast<std::uint32_t>(
          std::find(setup.members.begin(), setup.members.end(), flow_hub) - setup.members.begin())),
      has_hub_(hub_index_ < setup.members.size()),
      routes_(topology_, *routing_, numbers_, has_hub_ ? topology_.nodes() : setup.members.size()),
      flows_(has_hub_ ? capacities_of(topology_) : std::vector<double>{},
             options.by_latency ? MaxMin::fine : MaxMin::whole),
      account_(has_hub_ ? numbers_.count() : 0),
      lumped_on_(has_hub_ && options.lumps_rings ? numbers_.count() : 0) {}

void FlowNetwork::handle(pdes::Context& context, const pdes::Event& event) {
  switch (event.port.kind()) {
    case flow_port::begin:
      share_before(context);
      begin(context, event.as<Begin>(), event);
      break;
    case flow_port::share:
      share(context);
      break;
    case flow_port::end:
      share_before(context);
      end_flows(context);
      break;
    case ring_kind:
      announce(context, event.as<RingPart>());
      break;
    case flow_port::joined:
      join(event.as<RingPart>(), event.source);
      break;
    case flow_port::look_ahead:
      share_before(context);
      look_ahead(context, event.as<OfRing>());
      break;
    case flow_port::chain_over:
      end_chain(context, event.as<OfRing>());
      break;
    case flow_port::resumed:
      share_before(context);
      resume(context, event.as<OfRing>());
      break;
    default:
      inject(context, event.as<SendRequest>(), event.tag, event.flags);
  }
}

// The hub keeps account of all links.
void FlowNetwork::visit_links(SimTime end, const LinkUseSink& sink) const {
  if (!has_hub_) {
    return;
  }
  LinkAccount account = account_;
  add_under_way(account, end);
  add_lumped(account, end);
  for (std::uint32_t node = 0; node < topology_.nodes(); ++node) {
    for (unsigned port = 0; port < topology_.ports(EntityId(node)); ++port) {
      const std::uint32_t link = numbers_.number(EntityId(node), port);
      const Bytes bytes(account.bytes(link));
      if (bytes > Bytes()) {
        sink({EntityId(node), port, SimTime::zero(), end, bytes,
              account.busy(link, flows_.flows_on(link) == 0, end), Bytes(0)});
      }
    }
  }
}

void FlowNetwork::inject(pdes::Context& context, const SendRequest& request, std::uint16_t tag,
                         std::uint8_t flags) {
  carried_.take(request.bytes);
  if (request.target == context.self()) {
    carried_.deliver(request.bytes);
    context.send_self(SimTime::zero(), request.deliver, Arrival{context.self(), 0, request.word},
                      tag);
    return;
  }
  ensure(request.bytes >> (64 - port_bits) == 0, "a message whose size has its bits");
  const Route& route = routes_.find(context.self(), request.target);
  hops_ += route.links.size();
  context.send(flow_hub, options_.overheads.message + route.latency - ahead_,
               pdes::Port(slot_, flow_port::begin),
               Begin{request.target, request.limit,
                     request.bytes << port_bits | request.deliver.code(), request.word},
               tag, flags);
}

bool FlowNetwork::goes_in_turn(std::uint8_t flags) const {
  return options_.in_turn == InTurn::all ||
         (options_.in_turn == InTurn::connected && (flags & connection_flag) != 0);
}

void FlowNetwork::begin(pdes::Context& context, const Begin& begin, const pdes::Event& event) {
  Message message;
  message.target = begin.target;
  message.source = event.source;
  message.bytes = begin.bytes_and_port >> port_bits;
  message.port = static_cast<std::uint8_t>(begin.bytes_and_port);
  message.word = begin.word;
  message.tag = event.tag;
  message.limit = begin.limit;
  message.active = true;
  message.in_turn = goes_in_turn(event.flags);
  if (message.bytes == 0) {
    deliver(context, message, 0);
  } else if (!comes_late(message)) {
    begin_message(context, message);
  }
}

// When it is its turn.
void FlowNetwork::begin_message(pdes::Context& context, const Message& message) {
  disturb_rings(context, message);
  if (!message.in_turn || turns_.take(message.pair(), message)) {
    begin_flow(context, message);
  }
}

void FlowNetwork::begin_flow(pdes::Context& context, const Message& message) {
  const std::uint32_t number = add_flow(message, context.now());
  if (message.chain != Message::no_chain) {
    rings_.at(message.word).ring.begins(message.chain, number, context.now());
  }
  ask_to_share(context);
}

std::uint32_t FlowNetwork::add_flow(const Message& message, SimTime since) {
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(messages_.size());
    messages_.push_back(message);
  } else {
    number = free_.back();
    free_.pop_back();
    messages_[number] = message;
  }
  const Route& route = routes_.find(message.source, message.target);
  for (const std::uint32_t link : route.links) {
    if (flows_.flows_on(link) == 0) {
      account_.wakes(link, since);
    }
  }
  tell_flow(number, route);
  return number;
}

void FlowNetwork::tell_flow(std::uint32_t number, const Route& route) {
  flows_.begin(number, route.links, messages_[number].bytes, weight_on(route),
               limit_of(messages_[number].limit, route));
}

Wide FlowNetwork::weight_on(const Route& route) const {
  return options_.by_latency ? one_over(route.latency) : 1;
}

double FlowNetwork::limit_of(const RateLimit& own, const Route& route) const {
  double limit = options_.limit ? bytes_per_ps(*options_.limit) : MaxMin::no_limit;
  if (const auto rate = own.rate()) {
    limit = std::min(limit, bytes_per_ps(*rate));
  }
  if (options_.window) {
    limit = std::min(limit, static_cast<double>(options_.window->count()) /
                                (2 * static_cast<double>(route.latency.ps())));
  }
  return limit;
}

void FlowNetwork::ask_to_share(pdes::Context& context) {
  if (to_share_ == SimTime::never()) {
    to_share_ = context.now();
    context.send_self(tick, pdes::Port(slot_, flow_port::share), std::uint32_t{0});
  }
}

// Of the instant one tick ago, when nothing can happen then any more.
void FlowNetwork::share(pdes::Context& context) {
  if (!share_before(context)) {
    context.pass();
  }
}

// Before anything changes at the present instant. Whether there was something to share.
bool FlowNetwork::share_before(pdes::Context& context) {
  if (to_share_ >= context.now()) {
    return false;
  }
  flows_.share(to_share_);
  to_share_ = SimTime::never();
  wake(context);
  return true;
}

// Comes back when the first flow is over.
void FlowNetwork::wake(pdes::Context& context) {
  const SimTime next = flows_.next_end();
  if (next >= woken_at_) {
    return;
  }
  woken_at_ = next;
  context.send_self(std::max(SimTime::zero(), woken_at_ - context.now()),
                    pdes::Port(slot_, flow_port::end), std::uint32_t{0});
}

void FlowNetwork::end_flows(pdes::Context& context) {
  if (context.now() >= woken_at_) {
    woken_at_ = SimTime::never();
  }
  ended_.clear();
  flows_.take_ended(context.now(), ended_);
  for (const std::uint32_t number : ended_) {
    const Message& message = messages_[number];
    for (const std::uint32_t link : flows_.route(number)) {
      account_.carried(link, message.bytes, flows_.flows_on(link) == 0, context.now());
    }
    carried_.bytes_delivered += message.bytes;
    if (message.chain == Message::no_chain) {
      deliver(context, message, 0);
    } else {
      end_step(context, message);
    }
    free_flow(number);
  }
  start_next(context);
  if (ended_.empty()) {
    context.pass();  // flows have been sped up or slowed down since
  } else {
    ask_to_share(context);
  }
  wake(context);
  for (const std::uint64_t word : to_lump_) {
    lump_if_alone(context, word);
  }
  to_lump_.clear();
}

void FlowNetwork::free_flow(std::uint32_t number) {
  messages_[number].active = false;
  free_.push_back(number);
}

// Those that waited for the ones that are over now.
void FlowNetwork::start_next(pdes::Context& context) {
  next_.clear();
  for (const std::uint32_t number : ended_) {
    if (!messages_[number].in_turn) {
      continue;
    }
    if (const auto next = turns_.pass_on(messages_[number].pair())) {
      next_.push_back(*next);
    }
  }
  for (const Message& message : next_) {
    begin_flow(context, message);
  }
}

void FlowNetwork::deliver(pdes::Context& context, const Message& message, std::uint32_t untold) {
  carried_.messages_delivered += untold + 1;
  context.send(message.target, ahead_, pdes::Port::from_code(message.port),
               Arrival{message.source, untold, message.word}, message.tag);
}

void FlowNetwork::add_under_way(LinkAccount& account, SimTime end) const {
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    const Message& message = messages_[number];
    if (!message.active) {
      continue;
    }
    const auto done = static_cast<std::uint64_t>(
        std::max(0.0, static_cast<double>(message.bytes) - flows_.left(number, end)));
    for (const std::uint32_t link : flows_.route(number)) {
      account.carried_alone(link, done, SimTime::zero());
    }
  }
}

// The hub's state belongs to its entity, whichever rank that is on.
void FlowNetwork::save(std::uint32_t index, pdes::StateWriter& writer) const {
  if (index != hub_index_) {
    return;
  }
  account_.save(writer);
  writer.put_all(messages_);
  writer.put_all(free_);
  writer.put(woken_at_);
  writer.put(to_share_);
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    if (messages_[number].active) {
      flows_.save(number, writer);
    }
  }
  turns_.save(writer);
  save_rings(writer);
}

void FlowNetwork::restore(std::uint32_t index, pdes::StateReader& reader) {
  if (index != hub_index_) {
    return;
  }
  account_.restore(reader);
  messages_ = reader.get_all<Message>();
  free_ = reader.get_all<std::uint32_t>();
  woken_at_ = reader.get<SimTime>();
  to_share_ = reader.get<SimTime>();
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    if (messages_[number].active) {
      tell_flow(number, routes_.find(messages_[number].source, messages_[number].target));
      flows_.restore(number, reader);
    }
  }
  turns_.restore(reader);
  restore_rings(reader);
}

}  // namespace tessera::network
