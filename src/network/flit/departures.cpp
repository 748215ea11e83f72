// What of the routers of a rank counts as leaving its region.
#include "flit/departures.hpp"

#include <utility>

#include "flit/routers.hpp"

namespace tessera::network {

void FlitRouters::watch_departures(const machine::Topology& topology,
                                   const pdes::RegionView& regions) {
  FlitReach reach;
  reach.early = step_offset;
  for (const LinkTiming& timing : timings_) {
    const unsigned credit = settings_.switch_allocation_delay + settings_.credit_delay;
    reach.flit.push_back(settings_.cycle * (std::int64_t{timing.cycles} + settings_.to_link() + 1));
    reach.credit.push_back(settings_.cycle * (std::int64_t{timing.cycles} + credit));
  }
  departures_.emplace(topology, *routes_, regions, std::move(reach));
}

void FlitRouters::take_in(EntityId here, const LinkLoad& load) {
  departures_->hold(departures_->neighbour(here, load.port));
  if (load.flit.is(Flit::head)) {
    departures_->come(here, EntityId(load.flit.target));
  }
}

// From the state of a router as it was saved.
void FlitRouters::count_departures(std::uint32_t index, EntityId node) {
  const RouterView router = view(index);
  for (std::uint32_t vc = 0; vc < router.at->ports() * settings_.vcs; ++vc) {
    const InputVc& input = router.input(vc);
    const auto flit_at = [&](unsigned place) -> const Flit& {
      return router.flit(std::size_t{vc} * settings_.buffer +
                         (input.first + place) % settings_.buffer);
    };
    for (unsigned place = 0; place < input.count; ++place) {
      if (port_of_[vc] != router.node_port()) {
        departures_->hold(EntityId(router.port(port_of_[vc]).to));
      }
      if (flit_at(place).is(Flit::head)) {
        departures_->come(node, EntityId(flit_at(place).target));
      }
    }
    const bool head_is_gone =
        input.state == InputVc::active && (input.count == 0 || !flit_at(0).is(Flit::head));
    if (head_is_gone && input.port != router.node_port()) {
      departures_->stay_between(EntityId(router.port(input.port).to),
                                router.port(input.port).link_class);
    }
  }
  waiting_.visit(*router.head, [&](const WaitingMessage& message) {
    departures_->come(node, EntityId(message.target));
  });
}

// Messages whose end is known here, of a router as it was saved. They have another place each: in a
// buffer, half out of the network, out of it but for other packets, or at their sender.
void FlitRouters::visit_arriving(std::uint32_t index, EntityId node,
                                 const ArrivingVisit& visit) const {
  const RouterView router = view(index);
  for (std::uint32_t vc = 0; vc < router.at->ports() * settings_.vcs; ++vc) {
    const InputVc& input = router.input(vc);
    for (unsigned place = 0; place < input.count; ++place) {
      const std::size_t at =
          std::size_t{vc} * settings_.buffer + (input.first + place) % settings_.buffer;
      const Flit& flit = router.flit(at);
      if (flit.is(Flit::head) && flit.is(Flit::last_packet)) {
        visit({EntityId(flit.source & Flit::node_bits), EntityId(flit.target),
               pdes::Port::from_code(router.deliver(at)), router.tag(at), flit.whole_word(),
               SimTime::zero()});
      }
    }
  }
  for (unsigned vc = 0; vc < settings_.vcs; ++vc) {
    const Leaving& packet = router.leaving(vc);
    if (packet.flits > 0 && packet.head.is(Flit::last_packet)) {
      visit({EntityId(packet.head.source & Flit::node_bits), node,
             pdes::Port::from_code(packet.deliver), packet.tag, packet.head.whole_word(),
             SimTime::zero()});
    }
  }
  partial_[index].visit([&](const PartialMessage& message) {
    if (message.packets > 0) {
      visit({EntityId(message.source), node, pdes::Port::from_code(message.label.deliver),
             message.label.tag, message.word, SimTime::zero()});
    }
  });
  const RouterHead& head = *router.head;
  bool is_in = head.message_flits > 0 && head.packet_flits == head.message_flits;
  waiting_.visit(head, [&](const WaitingMessage& message) {
    if (!std::exchange(is_in, false)) {  // the head of the first one's last packet
      visit({node, EntityId(message.target), pdes::Port::from_code(message.label.deliver),
             message.label.tag, message.word, SimTime::zero()});
    }
  });
}

}  // namespace tessera::network
