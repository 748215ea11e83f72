#include "flow/hub.hpp"

#include <algorithm>
#include <functional>

#include "flow/flow_outlook.hpp"
#include "tessera/core/error.hpp"

namespace tessera::network {
namespace {

constexpr SimTime tick = SimTime::from_ps(1);

}  // namespace

FlowHub::FlowHub(FlowShared& shared, const std::vector<double>& capacities, double largest)
    : shared_(shared),
      flows_(capacities, shared.options.by_latency ? MaxMin::fine : MaxMin::whole, largest),
      account_(capacities.size()),
      lumped_on_(shared.options.lumps_rings ? capacities.size() : 0) {}

void FlowHub::handle(pdes::Context& context, const pdes::Event& event) {
  switch (event.port.kind()) {
    case flow_port::begin:
      share_before(context);
      begin(context, event.as<FlowBegin>(), event);
      break;
    case flow_port::share:
      share(context);
      break;
    case flow_port::end:
      share_before(context);
      end_flows(context);
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
    default:
      ensure(event.port.kind() == flow_port::resumed, "an event that a hub knows");
      share_before(context);
      resume(context, event.as<OfRing>());
  }
}

LinkAccount FlowHub::account_at(SimTime end) const {
  LinkAccount account = account_;
  add_under_way(account, end);
  add_lumped(account, end);
  return account;
}

bool FlowHub::goes_in_turn(std::uint8_t flags) const {
  return shared_.options.in_turn == InTurn::all ||
         (shared_.options.in_turn == InTurn::connected && (flags & connection_flag) != 0);
}

// Of messages that may overtake each other nobody could tell which one has come how far.
void FlowHub::begin(pdes::Context& context, const FlowBegin& begin, const pdes::Event& event) {
  Message message;
  message.target = begin.target;
  message.source = event.source;
  message.bytes = begin.bytes();
  message.port = begin.port().code();
  message.word = begin.word;
  message.tag = event.tag;
  message.limit = begin.limit;
  message.active = true;
  message.in_turn = goes_in_turn(event.flags);
  message.followed = message.in_turn && (event.flags & followed_flag) != 0;
  if (message.bytes == 0) {
    deliver(context, message, 0);
  } else if (!comes_late(message)) {
    begin_message(context, message);
  }
}

// When it is its turn.
void FlowHub::begin_message(pdes::Context& context, const Message& message) {
  disturb_rings(context, message);
  if (!message.in_turn || turns_.take(message.pair(), message)) {
    begin_flow(context, message);
    ask_to_see(context);
  }
}

void FlowHub::begin_flow(pdes::Context& context, const Message& message) {
  const std::uint32_t number = add_flow(message, context.now());
  if (message.chain != Message::no_chain) {
    rings_.at(message.word).ring.begins(message.chain, number, context.now());
  }
  if (flows_.is_pending()) {
    ask_to_share(context);
  }
  watch(number, context.now());
}

std::uint32_t FlowHub::add_flow(const Message& message, SimTime since) {
  std::uint32_t number = 0;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(messages_.size());
    messages_.push_back(message);
  } else {
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    number = free_.back();
    free_.pop_back();
    messages_[number] = message;
  }
  const Route& route = shared_.routes.find(message.source, message.target);
  for (const std::uint32_t link : route.links) {
    if (flows_.flows_on(link) == 0) {
      account_.wakes(link, since);
    }
  }
  const Wide weight = weight_on(route);
  const double limit = shared_.limit_of(message.limit, route);
  if (shared_.options.lumps_rings ||
      !flows_.begin_alone(number, route.links, message.bytes, weight, limit, since)) {
    flows_.begin(number, route.links, message.bytes, weight, limit);
  }
  return number;
}

// Where its end matters elsewhere, or to somebody here.
void FlowHub::watch(std::uint32_t number, SimTime done) {
  if (shared_.outlook == nullptr) {
    return;
  }
  watches_.resize(std::max(watches_.size(), messages_.size()));
  const Message& message = messages_[number];
  const bool is_here = shared_.outlook->is_here(message.target);
  if (is_here && !message.followed) {
    return;
  }
  Watch& watch = watches_[number];
  watch.most_rate =
      shared_.most_rate(message.limit, shared_.routes.find(message.source, message.target));
  const SimTime arrives = least_end(number, done) + shared_.ahead;
  shared_.outlook->flows(*this, number, watch.generation, message.target, arrives);
  if (is_here) {
    tell_progress(number, arrives);
  }
}

// What changed at `to_share_`, and from when on rates are others than those of before.
SimTime FlowHub::least_end(std::uint32_t flow, SimTime done) const {
  const SimTime known = std::min(done, to_share_);
  return known + FluidFlows::least_duration(flows_.left(flow, known), watches_[flow].most_rate);
}

void FlowHub::tell_progress(std::uint32_t flow, SimTime arrives) const {
  const Message& message = messages_[flow];
  if (shared_.progress) {
    shared_.progress({message.source, message.target, pdes::Port::from_code(message.port),
                      message.tag, message.word, arrives});
  }
}

Wide FlowHub::weight_on(const Route& route) const {
  return shared_.options.by_latency ? one_over(route.latency) : 1;
}

void FlowHub::ask_to_share(pdes::Context& context) {
  if (to_share_ == SimTime::never()) {
    to_share_ = context.now();
    context.send_self(tick, own_port(flow_port::share), std::uint32_t{0});
  }
}

// Where a flow that has begun alone is over before the hub comes back.
void FlowHub::ask_to_see(pdes::Context& context) {
  if (flows_.first_unseen() < woken_at_) {
    ask_to_share(context);
  }
}

// Of the instant one tick ago, when nothing can happen then any more.
void FlowHub::share(pdes::Context& context) {
  if (!share_before(context)) {
    context.pass();
  }
}

// Before anything changes at the present instant. Whether there was something to share.
bool FlowHub::share_before(pdes::Context& context) {
  if (to_share_ >= context.now()) {
    flows_.see(context.now());
    return false;
  }
  flows_.share(to_share_);
  to_share_ = SimTime::never();
  wake(context);
  return true;
}

// Comes back when the first flow is over, at each instant once.
void FlowHub::wake(pdes::Context& context) {
  const SimTime next = flows_.next_end();
  if (next >= woken_at_) {
    return;
  }
  woken_at_ = next;
  const SimTime at = std::max(next, context.now());
  const auto place = std::lower_bound(asked_.begin(), asked_.end(), at, std::greater<>());
  if (place == asked_.end() || *place != at) {
    asked_.insert(place, at);
    context.send_self(at - context.now(), own_port(flow_port::end), std::uint32_t{0});
  }
}

void FlowHub::end_flows(pdes::Context& context) {
  if (context.now() >= woken_at_) {
    woken_at_ = SimTime::never();
  }
  while (!asked_.empty() && asked_.back() <= context.now()) {
    asked_.pop_back();
  }
  ended_.clear();
  flows_.take_ended(context.now(), ended_);
  for (const std::uint32_t number : ended_) {
    const Message& message = messages_[number];
    for (const std::uint32_t link : flows_.route(number)) {
      account_.carried(link, message.bytes, flows_.flows_on(link) == 0, context.now());
    }
    shared_.carried.bytes_delivered += message.bytes;
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
  } else if (shared_.options.lumps_rings || flows_.is_pending()) {
    ask_to_share(context);
  }
  wake(context);
  ask_to_see(context);
  for (const std::uint64_t word : to_lump_) {
    lump_if_alone(context, word);
  }
  to_lump_.clear();
}

void FlowHub::free_flow(std::uint32_t number) {
  messages_[number].active = false;
  free_.push_back(number);
  std::push_heap(free_.begin(), free_.end(), std::greater<>());
  if (shared_.outlook != nullptr) {
    ++watches_[number].generation;
  }
}

// Those that waited for the ones that are over now.
void FlowHub::start_next(pdes::Context& context) {
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

void FlowHub::deliver(pdes::Context& context, const Message& message, std::uint32_t untold) {
  shared_.carried.messages_delivered += untold + 1;
  context.send(message.target, shared_.ahead, pdes::Port::from_code(message.port),
               Arrival{message.source, untold, message.word}, message.tag);
}

void FlowHub::add_under_way(LinkAccount& account, SimTime end) const {
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

void FlowHub::save(pdes::StateWriter& writer) const {
  account_.save(writer);
  writer.put_all(messages_);
  writer.put_all(free_);
  writer.put(woken_at_);
  writer.put(to_share_);
  writer.put_all(asked_);
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    if (messages_[number].active) {
      flows_.save(number, writer);
    }
  }
  turns_.save(writer);
  save_rings(writer);
}

// Who follows what is found out anew: that depends on the ranks.
void FlowHub::restore(pdes::StateReader& reader) {
  account_.restore(reader);
  messages_ = reader.get_all<Message>();
  free_ = reader.get_all<std::uint32_t>();
  std::make_heap(free_.begin(), free_.end(), std::greater<>());
  woken_at_ = reader.get<SimTime>();
  to_share_ = reader.get<SimTime>();
  asked_ = reader.get_all<SimTime>();
  for (std::uint32_t number = 0; number < messages_.size(); ++number) {
    Message& message = messages_[number];
    if (message.active) {
      const Route& route = shared_.routes.find(message.source, message.target);
      flows_.begin(number, route.links, message.bytes, weight_on(route),
                   shared_.limit_of(message.limit, route));
      flows_.restore(number, reader);
      message.followed = tell_incoming(message);
      watch(number, SimTime::zero());
    }
  }
  if (to_share_ == SimTime::never()) {
    flows_.share(SimTime::zero());  // all is known: it changes nothing
  }
  turns_.restore(reader);
  turns_.visit_waiting([this](Message& message) { message.followed = tell_incoming(message); });
  restore_rings(reader);
}

// To those who wait for it here; whether they follow it.
bool FlowHub::tell_incoming(const Message& message) const {
  return shared_.outlook != nullptr && shared_.incoming &&
         shared_.outlook->is_here(message.target) &&
         shared_.incoming({message.source, message.target, pdes::Port::from_code(message.port),
                           message.tag, message.word, SimTime::zero()}) &&
         message.in_turn;
}

}  // namespace tessera::network
