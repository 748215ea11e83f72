// The stages of a router in one cycle: first all allocators look, then everything moves.
#include <algorithm>
#include <bit>

#include "flit/routers.hpp"
#include "flit/vc_sets.hpp"
#include "tessera/core/error.hpp"

namespace tessera::network {
namespace {

template <class Visit>
void for_each(const std::uint64_t* set, unsigned words, Visit visit) {
  for (unsigned word = 0; word < words; ++word) {
    for (std::uint64_t left = set[word]; left != 0; left &= left - 1) {
      visit(word * 64 + static_cast<std::uint32_t>(std::countr_zero(left)));
    }
  }
}

}  // namespace

// Of two ports that will do, the one with a free channel; of two such the one with more credits.
void FlitRouters::choose_port(RouterView& router, InputVc& input) const {
  const auto room = [&](unsigned port) {
    unsigned credits = 0;
    for (std::uint32_t left = input.vcs & ~router.port(port).busy; left != 0; left &= left - 1) {
      credits +=
          1U + router.output(port * settings_.vcs + static_cast<unsigned>(std::countr_zero(left)))
                   .credits;
    }
    return credits;
  };
  if (room(input.other) > room(input.port)) {
    std::swap(input.port, input.other);
  }
}

void FlitRouters::ask_for_channels(Step& step) {
  RouterView& router = step.router;
  channels_.clear();
  heads_.clear();
  ++run_;
  for_each(router.wanting(), router.at->words(), [&](std::uint32_t vc) {
    InputVc& input = router.input(vc);
    if (!input.is_ready(step.cycle)) {
      step.progress = true;
      return;
    }
    if (input.other != no_port) {
      choose_port(router, input);
    }
    const std::uint32_t free = input.vcs & ~router.port(input.port).busy;
    if (free != 0) {
      heads_.push_back({vc, input.port, free});
      PortAsked& port = asked_[input.port];
      port = {run_, port.run == run_ ? port.heads + 1 : 1};
    }
  });
  requests_.clear();
  for (const Head& head : heads_) {
    if (asked_[head.port].heads == 1) {
      take_first_free(router, head);
      continue;
    }
    for (std::uint32_t left = head.free; left != 0; left &= left - 1) {
      const auto out_vc = static_cast<unsigned>(std::countr_zero(left));
      requests_.push_back({head.input_vc, head.port * settings_.vcs + out_vc, head.input_vc});
    }
  }
  if (requests_.empty()) {
    return;
  }
  const std::uint32_t all = router.at->ports() * settings_.vcs;
  const auto granted = matching_.match(
      requests_, settings_.outputs_first, settings_.iterations, all, all,
      [&](std::uint32_t input) -> std::uint16_t& { return router.input(input).turn; },
      [&](std::uint32_t output) -> std::uint16_t& { return router.output(output).turn; });
  for (const SwitchRequest& request : granted) {
    channels_.push_back({request.input, request.output});
  }
}

// What any allocator gives a head that nobody shares its port with: the channel next in its turn.
void FlitRouters::take_first_free(RouterView& router, const Head& head) {
  const std::uint32_t first = head.port * settings_.vcs;
  InputVc& input = router.input(head.input_vc);
  std::uint32_t later = 0;
  if (input.turn >= first && input.turn < first + settings_.vcs) {
    later = head.free >> (input.turn - first) << (input.turn - first);
  }
  const std::uint32_t output =
      first + static_cast<std::uint32_t>(std::countr_zero(later != 0 ? later : head.free));
  const std::uint32_t all = router.at->ports() * settings_.vcs;
  input.turn = static_cast<std::uint16_t>(output + 1 == all ? 0 : output + 1);
  const std::uint32_t after = head.input_vc + 1;
  router.output(output).turn = static_cast<std::uint16_t>(after == all ? 0 : after);
  channels_.push_back({head.input_vc, output});
}

// Of two virtual channels that ask for the same way through the switch, the one next in turn.
void FlitRouters::add_switch_request(RouterView& router, std::uint32_t input_vc, unsigned port) {
  const unsigned in_port = port_of_[input_vc];
  const unsigned vc = input_vc - in_port * settings_.vcs;
  const SwitchRequest request{in_port * settings_.input_speedup + vc % settings_.input_speedup,
                              port * settings_.output_speedup + in_port % settings_.output_speedup,
                              input_vc};
  const unsigned turn = router.switch_vcs()[request.input];
  const auto distance = [&](unsigned channel) {
    return channel >= turn ? channel - turn : channel + settings_.vcs - turn;
  };
  for (auto other = requests_.rbegin();
       other != requests_.rend() && port_of_[other->who] == in_port; ++other) {
    if (other->input == request.input && other->output == request.output) {
      if (distance(vc) < distance(other->who - in_port * settings_.vcs)) {
        other->who = input_vc;
      }
      return;
    }
  }
  requests_.push_back(request);
}

void FlitRouters::match_switch(RouterView& router, unsigned allocator) {
  const std::uint32_t inputs = router.at->ports() * settings_.input_speedup;
  const std::uint32_t outputs = router.at->ports() * settings_.output_speedup;
  std::uint16_t* const input_turns = router.switch_inputs() + std::size_t{allocator} * inputs;
  std::uint16_t* const output_turns = router.switch_outputs() + std::size_t{allocator} * outputs;
  const auto granted = matching_.match(
      requests_, settings_.outputs_first, settings_.iterations, inputs, outputs,
      [&](std::uint32_t input) -> std::uint16_t& { return input_turns[input]; },
      [&](std::uint32_t output) -> std::uint16_t& { return output_turns[output]; });
  for (const SwitchRequest& request : granted) {
    const unsigned in_port = port_of_[request.who];
    const unsigned after = request.who - in_port * settings_.vcs + settings_.input_speedup;
    router.switch_vcs()[request.input] = static_cast<std::uint8_t>(after % settings_.vcs);
    crossing_.push_back(request.who);
    crossing_inputs_[request.input] = run_;
    crossing_outputs_[request.output] = run_;
  }
}

void FlitRouters::ask_for_switch(Step& step) {
  RouterView& router = step.router;
  crossing_.clear();
  requests_.clear();
  ++run_;
  for_each(router.sending(), router.at->words(), [&](std::uint32_t vc) {
    InputVc& input = router.input(vc);
    if (!input.is_ready(step.cycle)) {
      step.progress = true;
    } else if (router.output(input.port * settings_.vcs + input.out_vc).credits > 0) {
      add_switch_request(router, vc, input.port);
    }
  });
  if (!requests_.empty()) {
    match_switch(router, 0);
  }
  if (settings_.speculative && !channels_.empty()) {
    speculate(step);
  }
}

// Heads that were granted a channel in this very cycle had asked for the switch as well, at what
// the others leave. A head that asked in vain would have kept others from it in hardware; here it
// does not.
void FlitRouters::speculate(Step& step) {
  RouterView& router = step.router;
  requests_.clear();
  for (const Granted& channel : channels_) {
    const std::uint32_t port = port_of_[channel.output_vc];
    const std::uint32_t in_port = port_of_[channel.input_vc];
    const std::uint32_t input =
        in_port * settings_.input_speedup +
        (channel.input_vc - in_port * settings_.vcs) % settings_.input_speedup;
    const std::uint32_t output =
        port * settings_.output_speedup + in_port % settings_.output_speedup;
    if (router.output(channel.output_vc).credits > 0 && crossing_inputs_[input] != run_ &&
        crossing_outputs_[output] != run_) {
      add_switch_request(router, channel.input_vc, port);
    }
  }
  if (!requests_.empty()) {
    match_switch(router, 1);
  }
}

void FlitRouters::route_heads(Step& step) {
  RouterView& router = step.router;
  for_each(router.routing(), router.at->words(), [&](std::uint32_t vc) {
    InputVc& input = router.input(vc);
    step.progress = true;
    if (input.is_ready(step.cycle)) {
      take_out(router.routing(), vc);
      route(router, step.context.self(), vc);
    }
  });
}

void FlitRouters::take_channels(Step& step) {
  RouterView& router = step.router;
  for (const Granted& channel : channels_) {
    InputVc& input = router.input(channel.input_vc);
    const unsigned port = port_of_[channel.output_vc];
    input.state = InputVc::active;
    input.port = static_cast<std::uint16_t>(port);
    input.out_vc = static_cast<std::uint8_t>(channel.output_vc - port * settings_.vcs);
    input.be_ready_at(step.cycle + settings_.vc_allocation_delay);
    take_out(router.wanting(), channel.input_vc);
    put_in(router.sending(), channel.input_vc);
    router.port(port).busy |= 1U << input.out_vc;
    step.progress = true;
  }
}

void FlitRouters::traverse(Step& step) {
  if (crossing_.empty()) {
    return;
  }
  step.progress = true;
  for (const std::uint32_t vc : crossing_) {
    send(step, vc);
  }
  return_credits(step);
}

void FlitRouters::send(Step& step, std::uint32_t input_vc) {
  RouterView& router = step.router;
  InputVc& input = router.input(input_vc);
  const std::size_t at = std::size_t{input_vc} * settings_.buffer + input.first;
  const Flit flit = router.flit(at);
  const FlitLabel label{router.tag(at), router.deliver(at)};
  const unsigned next = input.first + 1U;
  input.first = static_cast<std::uint8_t>(next == settings_.buffer ? 0 : next);
  --input.count;
  const unsigned in_port = port_of_[input_vc];
  credits_[in_port] |= 1U << (input_vc - in_port * settings_.vcs);

  if (departures_ && in_port != router.node_port()) {
    departures_->release(EntityId(router.port(in_port).to));
  }

  OutputPort& port = router.port(input.port);
  const unsigned out_vc = input.out_vc;
  --router.output(input.port * settings_.vcs + out_vc).credits;
  ++hops_;
  if (input.port == router.node_port()) {
    leave(step, out_vc, flit, label);
  } else {
    send_flit(step, port, flit, out_vc, label);
  }

  if (!flit.is(Flit::tail)) {
    if (input.count == 0) {
      take_out(router.sending(), input_vc);
    }
    return;
  }
  (settings_.wait_for_tail_credit ? port.tailed : port.busy) ^= 1U << out_vc;
  take_out(router.sending(), input_vc);
  input.state = InputVc::idle;
  if (input.count > 0) {
    begin_packet(router, step.context.self(), input_vc, step.cycle + 1);
  }
}

void FlitRouters::send_flit(Step& step, OutputPort& port, const Flit& flit, unsigned vc,
                            FlitLabel label) {
  const LinkTiming& timing = timings_[port.link_class];
  const std::uint64_t earliest = (step.cycle + settings_.to_link()) << interval_bits;
  const std::uint64_t start = std::max(earliest, port.free_at);
  port.free_at = start + timing.interval;
  const std::uint64_t wait = (start - earliest + (1U << interval_bits) - 1) >> interval_bits;
  port.longest_wait = std::max(port.longest_wait, static_cast<std::uint32_t>(wait));
  port.wait_in_bin =
      std::max(port.wait_in_bin,
               static_cast<std::uint16_t>(std::min<std::uint64_t>(wait, most_wait_in_bin)));
  ++port.flits;
  if (departures_) {
    departures_->pass(step.context.self(), EntityId(port.to), port.link_class, flit);
  }
  LinkLoad load;
  load.flit = flit;
  load.port = port.reverse;
  load.vc = static_cast<std::uint8_t>(vc);
  load.deliver = label.deliver;
  step.context.send(EntityId(port.to), in_cycles(settings_.to_link() + wait + 1 + timing.cycles),
                    link_port_, load, label.tag, LinkLoad::holds_flit);
}

// Out of the network, to the node.
void FlitRouters::leave(Step& step, unsigned vc, const Flit& flit, FlitLabel label) {
  RouterView& router = step.router;
  const std::uint64_t ring = router.at->ring();
  router.ejection_ring()[(step.cycle + settings_.ejection_credit()) & (ring - 1)] |= 1U << vc;
  ++router.head->local_credits;
  Leaving& packet = router.leaving(vc);
  if (flit.is(Flit::head)) {
    packet.head = flit;
    packet.tag = label.tag;
    packet.deliver = label.deliver;
    packet.flits = 1;
  } else if (packet.flits == 1) {
    packet.number = flit.word[0];
    packet.packets = flit.word[1];
    packet.flits = 2;
  }
  carried_.bytes_delivered += settings_.flit_bytes;
  if (!flit.is(Flit::tail)) {
    return;
  }
  packet.flits = 0;
  PartialMessage message;
  if (packet.head.is(Flit::one_of_many)) {
    if (!partial_[step.context.index()].count(packet, message)) {
      return;
    }
  } else {
    message.word = packet.head.whole_word();
    message.source = packet.head.source & Flit::node_bits;
    message.label = {packet.tag, packet.deliver};
  }
  ++carried_.messages_delivered;
  step.context.send_self(in_cycles(settings_.to_node()) + overhead_,
                         pdes::Port::from_code(message.label.deliver),
                         Arrival{EntityId(message.source), 0, message.word}, message.label.tag);
}

void FlitRouters::return_credits(Step& step) {
  RouterView& router = step.router;
  for (const std::uint32_t vc : crossing_) {
    const unsigned in_port = port_of_[vc];
    const std::uint32_t credits = credits_[in_port];
    if (credits == 0) {
      continue;
    }
    credits_[in_port] = 0;
    if (in_port == router.node_port()) {
      const std::uint64_t ring = router.at->ring();
      router.injection_ring()[(step.cycle + settings_.injection_credit()) & (ring - 1)] |= credits;
      router.head->local_credits =
          static_cast<std::uint16_t>(router.head->local_credits + std::popcount(credits));
      continue;
    }
    const OutputPort& back = router.port(in_port);
    LinkLoad load;
    load.port = back.reverse;
    load.credits = credits;
    step.context.send(EntityId(back.to),
                      in_cycles(settings_.switch_allocation_delay - 1 + 1 +
                                timings_[back.link_class].cycles + settings_.credit_delay),
                      link_port_, load, 0, LinkLoad::holds_credits);
  }
}

}  // namespace tessera::network
