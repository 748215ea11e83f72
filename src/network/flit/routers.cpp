#include "flit/routers.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "flit/vc_sets.hpp"
#include "packet/packets.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/quotient.hpp"

namespace tessera::network {
FlitRouters::FlitRouters(const machine::Topology& topology, std::span<const EntityId> members,
                         const FlitSettings& settings, std::vector<LinkTiming> timings,
                         std::unique_ptr<FlitRoutes> routes, SimTime overhead, unsigned slot)
    : settings_(settings),
      timings_(std::move(timings)),
      routes_(std::move(routes)),
      overhead_(overhead),
      link_port_(slot, link_kind),
      wake_port_(slot, wake_kind),
      clock_(settings.cycle),
      partial_(members.size()),
      matching_(1) {
  unsigned most_ports = 1;
  std::vector<unsigned> layout_numbers;
  layout_of_.reserve(members.size());
  first_byte_.reserve(members.size());
  std::size_t bytes = 0;
  for (const EntityId node : members) {
    const unsigned ports = topology.ports(node) + 1;
    if (layout_numbers.size() <= ports) {
      layout_numbers.resize(ports + 1, 0);
    }
    if (layout_numbers[ports] == 0) {
      layouts_.push_back(std::make_unique<RouterLayout>(ports, settings_));
      layout_numbers[ports] = static_cast<unsigned>(layouts_.size());
    }
    layout_of_.push_back(layouts_[layout_numbers[ports] - 1].get());
    first_byte_.push_back(bytes);
    bytes += layout_of_.back()->bytes();
    most_ports = std::max(most_ports, ports);
  }
  blocks_.resize(bytes);
  for (std::uint32_t index = 0; index < members.size(); ++index) {
    RouterView router = view(index);
    *router.head = RouterHead();
    for (unsigned port = 0; port < router.node_port(); ++port) {
      const machine::Link link = topology.link(members[index], port);
      OutputPort& output = router.port(port);
      output.to = no_message;
      if (link.to.valid()) {
        output.to = link.to.value();
        output.link_class = link.link_class;
        const auto back = port_back(topology, members[index], port);
        ensure(back.has_value(), "links were looked at when the network was read");
        output.reverse = static_cast<std::uint16_t>(*back);
        output.back_class = topology.link(link.to, output.reverse).link_class;
      }
    }
    const std::uint32_t vcs = router.at->ports() * settings_.vcs;
    for (std::uint32_t vc = 0; vc < vcs; ++vc) {
      router.input(vc) = InputVc();
      router.output(vc).credits = static_cast<std::uint8_t>(settings_.buffer);
    }
    for (unsigned vc = 0; vc < settings_.vcs; ++vc) {
      router.injection_credits()[vc] = static_cast<std::uint8_t>(settings_.buffer);
    }
    for (unsigned input = 0; input < router.at->ports() * settings_.input_speedup; ++input) {
      router.switch_vcs()[input] = static_cast<std::uint8_t>(input % settings_.input_speedup);
    }
  }
  const std::uint32_t most_vcs = most_ports * settings_.vcs;
  for (std::uint32_t vc = 0; vc < most_vcs; ++vc) {
    port_of_.push_back(static_cast<std::uint16_t>(vc / settings_.vcs));
  }
  const std::uint32_t switch_ports =
      most_ports * std::max(settings_.input_speedup, settings_.output_speedup);
  matching_ = FlitMatching(std::max(most_vcs, switch_ports));
  crossing_inputs_.resize(switch_ports);
  crossing_outputs_.resize(switch_ports);
  credits_.resize(most_ports);
  asked_.resize(most_ports);
}

std::size_t FlitRouters::resident_bytes() const {
  std::size_t bytes = blocks_.capacity() + first_byte_.capacity() * sizeof(std::size_t) +
                      layout_of_.capacity() * sizeof(void*) +
                      partial_.capacity() * sizeof(PartialMessages) + waiting_.resident_bytes();
  for (const PartialMessages& messages : partial_) {
    bytes += messages.resident_bytes();
  }
  return bytes;
}

void FlitRouters::save(std::uint32_t index, pdes::StateWriter& writer) const {
  const RouterView router = view(index);
  writer.put_all(std::span<const std::byte>(router.base, router.at->bytes()));
  waiting_.save(*router.head, writer);
  partial_[index].save(writer);
}

void FlitRouters::restore(std::uint32_t index, EntityId node, pdes::StateReader& reader) {
  RouterView router = view(index);
  const auto block = reader.get_all<std::byte>();
  ensure(block.size() == router.at->bytes(), "a router's state has its size");
  std::memcpy(router.base, block.data(), block.size());
  waiting_.restore(*router.head, reader);
  partial_[index].restore(reader);
  if (departures_) {
    count_departures(index, node);
  }
}

// At most one wake is the next; others that were planned find that they are not.
void FlitRouters::schedule(pdes::Context& context, RouterView& router, std::uint64_t cycle,
                           SimTime now_delay) {
  if (cycle < router.head->next_wake) {
    router.head->next_wake = cycle;
    context.send_self(now_delay, wake_port_, cycle);
  }
}

void FlitRouters::take_request(pdes::Context& context, const SendRequest& request,
                               std::uint16_t tag) {
  if (!settings_.loopback && deliver_to_self(context, request, tag, carried_)) {
    return;
  }
  RouterView router = view(context.index());
  // The node sends in the first cycle that begins no earlier, and the flit takes its link.
  const auto cycle = static_cast<std::uint64_t>(
      clock_.window_of(context.now() + settings_.cycle - SimTime::from_ps(1)));
  WaitingMessage message;
  message.eligible = cycle + 1 + settings_.interface_cycles;
  message.flits = std::max<std::uint64_t>(1, quotient_up(request.bytes, settings_.flit_bytes));
  if (message.flits / settings_.packet_flits >= no_message) {
    throw ModelError("flit network: a message of more than 2^32 packets; make packets larger");
  }
  carried_.take(message.flits * settings_.flit_bytes);
  if (request.bytes > 0) {
    rounded_.asked += request.bytes;
    rounded_.carried += message.flits * settings_.flit_bytes;
  }
  message.word = request.word;
  message.target = request.target.value();
  message.label = {tag, request.deliver.code()};
  const bool was_idle = router.head->first_message == no_message;
  waiting_.push(*router.head, message);
  if (departures_) {
    departures_->come(context.self(), request.target);
  }
  if (was_idle) {
    const SimTime begin = settings_.cycle * static_cast<std::int64_t>(message.eligible);
    schedule(context, router, message.eligible, begin + step_offset - context.now());
  }
}

void FlitRouters::take_load(pdes::Context& context, const LinkLoad& load, std::uint16_t tag,
                            std::uint8_t holds) {
  RouterView router = view(context.index());
  const auto cycle = static_cast<std::uint64_t>(clock_.window_of(context.now()));
  if ((holds & LinkLoad::holds_credits) != 0) {
    for (std::uint32_t left = load.credits; left != 0; left &= left - 1) {
      take_credit(router, load.port, static_cast<unsigned>(std::countr_zero(left)));
    }
  }
  if ((holds & LinkLoad::holds_flit) != 0) {
    accept(router, context.self(), load.port * settings_.vcs + load.vc, load.flit,
           {tag, load.deliver}, cycle);
  } else {
    context.pass();  // a run lasts until its last message is there, not until all credits are back
  }
  schedule(context, router, cycle, step_offset);
}

void FlitRouters::take_credit(RouterView& router, unsigned port, unsigned vc) const {
  OutputVc& output = router.output(port * settings_.vcs + vc);
  ++output.credits;
  OutputPort& link = router.port(port);
  const std::uint32_t bit = 1U << vc;
  if ((link.tailed & bit) != 0 && output.credits == settings_.buffer) {
    link.tailed &= ~bit;
    link.busy &= ~bit;
  }
}

void FlitRouters::accept(RouterView& router, EntityId here, std::uint32_t input_vc,
                         const Flit& flit, FlitLabel label, std::uint64_t cycle) {
  InputVc& input = router.input(input_vc);
  ensure(input.count < settings_.buffer, "a flit came without a credit");
  unsigned place = input.first + input.count;
  place -= place >= settings_.buffer ? settings_.buffer : 0;
  const std::size_t at = std::size_t{input_vc} * settings_.buffer + place;
  router.flit(at) = flit;
  if (flit.is(Flit::head)) {
    router.tag(at) = label.tag;
    router.deliver(at) = label.deliver;
  }
  ++input.count;
  if (input.state == InputVc::idle) {
    begin_packet(router, here, input_vc, cycle);
  } else if (input.state == InputVc::active && input.count == 1) {
    put_in(router.sending(), input_vc);
  }
}

// The head at the front is routed from `cycle` on.
void FlitRouters::begin_packet(RouterView& router, EntityId here, std::uint32_t input_vc,
                               std::uint64_t cycle) {
  InputVc& input = router.input(input_vc);
  if (settings_.routing_delay == 0) {
    input.be_ready_at(cycle);
    route(router, here, input_vc);
    return;
  }
  input.state = InputVc::routing;
  input.be_ready_at(cycle + settings_.routing_delay - 1);
  put_in(router.routing(), input_vc);
}

void FlitRouters::route(RouterView& router, EntityId here, std::uint32_t input_vc) {
  InputVc& input = router.input(input_vc);
  const Flit& flit = router.flit(std::size_t{input_vc} * settings_.buffer + input.first);
  input.state = InputVc::wanting;
  put_in(router.wanting(), input_vc);
  if (flit.target == here.value()) {
    input.port = static_cast<std::uint16_t>(router.node_port());
    input.other = no_port;
    input.vcs = lowest_vcs(settings_.vcs);
    return;
  }
  const unsigned in_port = port_of_[input_vc];
  const FlitChoice choice =
      routes_->next({here, EntityId(flit.source & Flit::node_bits), EntityId(flit.target), in_port,
                     input_vc - in_port * settings_.vcs});
  input.port = choice.port;
  input.other = choice.other;
  input.vcs = choice.vcs;
}

void FlitRouters::wake(pdes::Context& context, std::uint64_t cycle) {
  RouterView router = view(context.index());
  if (router.head->next_wake != cycle) {
    context.pass();
    return;
  }
  router.head->next_wake = no_cycle;
  Step step{context, router, cycle};
  take_local_credits(step);
  inject(step);
  ask_for_channels(step);
  ask_for_switch(step);
  route_heads(step);
  take_channels(step);
  traverse(step);
  if (crossing_.empty()) {
    context.pass();
  }
  sleep_or_go_on(step);
}

void FlitRouters::take_local_credits(Step& step) {
  RouterHead& head = *step.router.head;
  const std::uint64_t from = head.credited + 1;
  head.credited = step.cycle;
  if (head.local_credits == 0) {
    return;
  }
  const std::uint64_t ring = step.router.at->ring();
  const unsigned node_port = step.router.node_port();
  for (std::uint64_t cycle = std::max(from, step.cycle + 1 - std::min(step.cycle + 1, ring));
       cycle <= step.cycle; ++cycle) {
    const std::uint64_t place = cycle & (ring - 1);
    for (std::uint32_t left = std::exchange(step.router.ejection_ring()[place], 0); left != 0;
         left &= left - 1) {
      take_credit(step.router, node_port, static_cast<unsigned>(std::countr_zero(left)));
      --head.local_credits;
      step.progress = true;
    }
    for (std::uint32_t left = std::exchange(step.router.injection_ring()[place], 0); left != 0;
         left &= left - 1) {
      const auto vc = static_cast<unsigned>(std::countr_zero(left));
      const std::uint32_t bit = left & -left;
      if (++step.router.injection_credits()[vc] == settings_.buffer &&
          (head.injection_tailed & bit) != 0) {
        head.injection_tailed &= ~bit;
        head.injection_busy &= ~bit;
      }
      --head.local_credits;
      step.progress = true;
    }
  }
}

// A packet takes the first free virtual channel after the one of the packet before. The last of
// several packets has two flits at least: see Flit.
bool FlitRouters::begin_injection(Step& step, const WaitingMessage& message) const {
  RouterHead& head = *step.router.head;
  for (unsigned i = 1; i <= settings_.vcs; ++i) {
    const unsigned vc = (head.injection_vc + i) % settings_.vcs;
    if ((head.injection_busy >> vc & 1) == 0 && step.router.injection_credits()[vc] > 0) {
      if (head.message_flits == 0) {
        head.message_flits = message.flits;
        head.packet = 0;
        ++head.message;
      }
      const std::uint64_t left = head.message_flits;
      const std::uint64_t most = settings_.packet_flits;
      head.packet_flits = static_cast<std::uint32_t>(std::min(left, most));
      if (left == most + 1) {
        --head.packet_flits;
      }
      ++head.packet;
      head.injection_busy |= 1U << vc;
      head.injection_vc = static_cast<std::uint8_t>(vc);
      return true;
    }
  }
  return false;
}

void FlitRouters::inject(Step& step) {
  RouterHead& head = *step.router.head;
  if (head.first_message == no_message) {
    return;
  }
  const WaitingMessage& message = waiting_.first(head);
  if (message.eligible > step.cycle) {
    return;
  }
  const bool begins = head.packet_flits == 0;
  if (begins ? !begin_injection(step, message)
             : step.router.injection_credits()[head.injection_vc] == 0) {
    return;
  }
  step.progress = true;
  const bool is_last = head.packet_flits == head.message_flits;
  const bool many = head.packet > 1 || !is_last;
  Flit flit;
  flit.target = message.target;
  flit.source = step.context.self().value() | (begins ? Flit::head : 0) |
                (head.packet_flits == 1 ? Flit::tail : 0) | (is_last ? Flit::last_packet : 0) |
                (many ? Flit::one_of_many : 0);
  if (begins && is_last) {
    flit.set_word(message.word);
  } else if (begins || (head.after_head != 0 && is_last)) {
    flit.word[0] = head.message;
    flit.word[1] = head.packet;
  }
  head.after_head = begins ? 1 : 0;
  if (departures_ && begins) {
    departures_->come(step.context.self(), EntityId(message.target));
  }
  --step.router.injection_credits()[head.injection_vc];
  accept(step.router, step.context.self(),
         step.router.node_port() * settings_.vcs + head.injection_vc, flit, message.label,
         step.cycle);
  --head.message_flits;
  if (--head.packet_flits == 0) {
    const std::uint32_t bit = 1U << head.injection_vc;
    (settings_.wait_for_tail_credit ? head.injection_tailed : head.injection_busy) ^= bit;
    if (head.message_flits == 0) {
      if (departures_) {
        departures_->go(step.context.self(), EntityId(message.target));
      }
      waiting_.pop(head);
    }
  }
}

void FlitRouters::sleep_or_go_on(Step& step) {
  RouterHead& head = *step.router.head;
  std::uint64_t held = 0;
  for (unsigned word = 0; word < 3 * step.router.at->words(); ++word) {
    held |= step.router.routing()[word];
  }
  const bool has_message = head.first_message != no_message;
  const std::uint64_t eligible = has_message ? waiting_.first(head).eligible : no_cycle;
  if (held == 0 && !has_message) {
    return;
  }
  std::uint64_t next = no_cycle;
  if (step.progress && (held != 0 || eligible <= step.cycle + 1)) {
    next = step.cycle + 1;
  } else {
    if (eligible > step.cycle) {
      next = eligible;
    }
    if (head.local_credits > 0) {
      const std::uint64_t ring = step.router.at->ring();
      std::uint64_t due = step.cycle + 1;
      while ((step.router.injection_ring()[due & (ring - 1)] |
              step.router.ejection_ring()[due & (ring - 1)]) == 0) {
        ++due;
      }
      next = std::min(next, due);
    }
  }
  if (next != no_cycle) {
    schedule(step.context, step.router, next,
             settings_.cycle * static_cast<std::int64_t>(next - step.cycle));
  }
}

}  // namespace tessera::network
