#include "flow/network.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::network {
namespace {

double capacity_of(const machine::Topology& topology, EntityId node, unsigned port) {
  return bytes_per_ps(topology.link_classes()[topology.link(node, port).link_class].bandwidth);
}

double largest_capacity(const machine::Topology& topology) {
  double largest = 0;
  for (std::uint32_t node = 0; node < topology.nodes(); ++node) {
    for (unsigned port = 0; port < topology.ports(EntityId(node)); ++port) {
      largest = std::max(largest, capacity_of(topology, EntityId(node), port));
    }
  }
  return largest;
}

}  // namespace

FlowNetwork::FlowNetwork(const NetworkSetup& setup, const FlowOptions& options, SimTime ahead)
    : topology_(*setup.machine.topology),
      members_(setup.members),
      routing_(machine::make_routing(options.routing, topology_)),
      parts_(topology_),
      shared_{setup.slot, options, ahead,
              RouteCache(topology_, *routing_, parts_, topology_.nodes())},
      hubs_(members_.size()) {
  if (setup.regions != nullptr && !options.lumps_rings) {
    outlook_.emplace(*setup.regions, ahead, topology_.smallest_latency());
    shared_.outlook = &*outlook_;
    if (!outlook_->is_here(parts_.hubs().front())) {
      outlook_->forget_passes();
    }
  }
}

void FlowNetwork::learn_routes(const PairVisit& pairs) {
  parts_.learn(*routing_, pairs, shared_.options.lumps_rings);
  if (!outlook_) {
    return;
  }
  outlook_->forget_passes();
  pairs([this](EntityId from, EntityId to) {
    if (from != to && !outlook_->is_here(from) && !outlook_->is_here(to) &&
        outlook_->is_here(shared_.routes.find(from, to).hub)) {
      outlook_->passes(outlook_->region_of(to));
    }
  });
}

// The first event that leaves: to the hub, or from it.
pdes::Exit FlowNetwork::exit_of_message(EntityId from, EntityId to, Bytes bytes) {
  if (!outlook_ || from == to) {
    return {};
  }
  const Route& route = shared_.routes.find(from, to);
  if (!route.hub.valid()) {
    return {};  // they send each other nothing
  }
  const SimTime before = shared_.options.overheads.message + route.latency;
  if (!outlook_->is_here(route.hub)) {
    return outlook_->is_here(from)
               ? pdes::Exit{outlook_->region_of(route.hub), before - shared_.ahead}
               : pdes::Exit{};
  }
  return outlook_->is_here(to) ? pdes::Exit{}
                               : pdes::Exit{outlook_->region_of(to),
                                            before + shared_.least_flow(bytes.count(), {}, route)};
}

SimTime FlowNetwork::least_time(EntityId from, EntityId to, Bytes bytes) {
  if (from == to) {
    return SimTime::zero();
  }
  const Route& route = shared_.routes.find(from, to);
  return shared_.options.overheads.message + route.latency +
         shared_.least_flow(bytes.count(), {}, route);
}

// Of a message that comes to a hub here.
void FlowNetwork::take_in(pdes::Event& event) {
  if (!outlook_ || event.port.kind() != flow_port::begin) {
    return;
  }
  const auto begin = event.as<FlowBegin>();
  const Route& route = shared_.routes.find(event.source, begin.target);
  const SimTime arrives =
      event.time + shared_.least_flow(begin.bytes(), begin.limit, route) + shared_.ahead;
  event.flags = static_cast<std::uint8_t>(event.flags & ~followed_flag);
  if (!outlook_->is_here(begin.target)) {
    outlook_->comes(begin.target, event.time, arrives);
  } else if (shared_.incoming && shared_.incoming({event.source, begin.target, begin.port(),
                                                   event.tag, begin.word, arrives})) {
    event.flags = static_cast<std::uint8_t>(event.flags | followed_flag);
  }
}

void FlowNetwork::handle(pdes::Context& context, const pdes::Event& event) {
  switch (event.port.kind()) {
    case send_kind:
      inject(context, event.as<SendRequest>(), event.tag, event.flags);
      break;
    case ring_kind:
      announce(context, event.as<RingPart>());
      break;
    default:
      hub_at(context.index()).handle(context, event);
  }
}

void FlowNetwork::inject(pdes::Context& context, const SendRequest& request, std::uint16_t tag,
                         std::uint8_t flags) {
  shared_.carried.take(request.bytes);
  if (request.target == context.self()) {
    shared_.carried.deliver(request.bytes);
    context.send_self(SimTime::zero(), request.deliver, Arrival{context.self(), 0, request.word},
                      tag);
    return;
  }
  if (request.bytes >> (64 - FlowBegin::port_bits) != 0) {
    throw ModelError("flow network: a message of " + std::to_string(request.bytes) +
                     " B; there may be at most 2^56 B");
  }
  const Route& route = shared_.routes.find(context.self(), request.target);
  if (!route.hub.valid()) [[unlikely]] {
    throw InternalError("a message from node " + std::to_string(context.self().value()) + " to " +
                        std::to_string(request.target.value()) +
                        ", which the work did not say would be sent");
  }
  shared_.hops += route.links.size();
  const SimTime wait = shared_.options.overheads.message + route.latency - shared_.ahead;
  if (outlook_ && outlook_->is_here(route.hub) && !outlook_->is_here(request.target)) {
    const SimTime begins = context.now() + wait;
    outlook_->reached(context.now());
    outlook_->comes(
        request.target, begins,
        begins + shared_.least_flow(request.bytes, request.limit, route) + shared_.ahead);
  }
  context.send(
      route.hub, wait, pdes::Port(shared_.slot, flow_port::begin),
      FlowBegin{request.target, request.limit,
                request.bytes << FlowBegin::port_bits | request.deliver.code(), request.word},
      tag, flags);
}

void FlowNetwork::announce(pdes::Context& context, const RingPart& part) const {
  ensure(shared_.options.lumps_rings, "a ring announced to who asked for it");
  const EntityId hub = parts_.hub_at(context.self());
  ensure(hub.valid(), "a member of a ring that sends something");
  context.send(hub, shared_.ahead, pdes::Port(shared_.slot, flow_port::joined), part);
}

// Made when its first message comes: most machines have many that are idle.
FlowHub& FlowNetwork::hub_at(std::uint32_t index) {
  if (hubs_[index] == nullptr) [[unlikely]] {
    ensure(parts_.is_hub(members_[index]), "an event for a hub, at one");
    if (largest_ == 0) {
      largest_ = largest_capacity(topology_);
    }
    std::vector<double> capacities;
    for (const std::uint32_t link : parts_.links_of(members_[index])) {
      const EntityId node = parts_.numbers().node(link);
      capacities.push_back(capacity_of(topology_, node, parts_.numbers().port(link)));
    }
    hubs_[index] = std::make_unique<FlowHub>(shared_, capacities, largest_);
  }
  return *hubs_[index];
}

// Hubs keep account of their links.
void FlowNetwork::visit_links(SimTime end, const LinkUseSink& sink) const {
  struct Use {
    const FlowHub* hub;
    LinkAccount account;
  };
  std::map<EntityId, Use> uses;
  for (std::size_t index = 0; index < hubs_.size(); ++index) {
    if (hubs_[index] != nullptr) {
      uses.emplace(members_[index], Use{hubs_[index].get(), hubs_[index]->account_at(end)});
    }
  }
  if (uses.empty()) {
    return;
  }
  for (std::uint32_t node = 0; node < topology_.nodes(); ++node) {
    for (unsigned port = 0; port < topology_.ports(EntityId(node)); ++port) {
      const std::uint32_t link = parts_.numbers().number(EntityId(node), port);
      const auto found = uses.find(parts_.hub(link));
      if (found == uses.end()) {
        continue;
      }
      const auto& [hub, account] = found->second;
      const std::uint32_t place = parts_.place(link);
      const Bytes bytes(account.bytes(place));
      if (bytes > Bytes()) {
        sink({EntityId(node), port, SimTime::zero(), end, bytes,
              account.busy(place, hub->is_idle(place), end), Bytes(0)});
      }
    }
  }
}

// A hub's state belongs to its entity, whichever rank that is on.
void FlowNetwork::save(std::uint32_t index, pdes::StateWriter& writer) const {
  if (!parts_.is_hub(members_[index])) {
    return;
  }
  const bool is_made = hubs_[index] != nullptr;
  writer.put(static_cast<std::uint8_t>(is_made ? 1 : 0));
  if (is_made) {
    hubs_[index]->save(writer);
  }
}

void FlowNetwork::restore(std::uint32_t index, pdes::StateReader& reader) {
  if (parts_.is_hub(members_[index]) && reader.get<std::uint8_t>() != 0) {
    hub_at(index).restore(reader);
  }
}

}  // namespace tessera::network
