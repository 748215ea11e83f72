#include <algorithm>

#include "tessera/network/messages.hpp"
#include "tessera/network/traffic/traffic.hpp"

namespace tessera::network {
namespace {

constexpr unsigned send_event = 0;
constexpr unsigned arrival_event = 1;
constexpr std::uint32_t random_stream = 0x7472'6166;  // its own among those of an entity
constexpr std::uint32_t no_number = 0xffff'ffff;

}  // namespace

TrafficMessage TrafficStream::next(EntityId node, std::uint32_t number, InjectionState& state,
                                   std::uint64_t from, std::uint64_t until) const {
  RandomStream random(seed, node, random_stream, state.draws);
  TrafficMessage message;
  message.cycle = from + process.gap(state, random, from == 0, until - from);
  message.target = pattern.target(number, random);
  state.draws = random.index();
  return message;
}

TrafficSource::TrafficSource(const TrafficSetup& setup, const TrafficPattern& pattern,
                             const InjectionProcess& process)
    : setup_(setup),
      stream_{pattern, process, setup.seed},
      nodes_(setup.topology.computing_node_ids()),
      states_(setup.members.size()) {
  for (const EntityId node : setup_.members) {
    const auto found = std::lower_bound(nodes_.begin(), nodes_.end(), node);
    number_of_.push_back(found != nodes_.end() && *found == node
                             ? static_cast<std::uint32_t>(found - nodes_.begin())
                             : no_number);
  }
}

std::size_t TrafficSource::resident_bytes() const {
  return nodes_.resident_bytes() + number_of_.capacity() * sizeof(std::uint32_t) +
         states_.capacity() * sizeof(InjectionState);
}

void TrafficSource::clear() {
  const TrafficCounts before = counts_;
  counts_ = {};
  counts_.waiting = before.waiting;
  counts_.send_cycles = before.send_cycles;
}

void TrafficSource::measure(std::uint64_t from, std::uint64_t until) {
  from_ = from;
  until_ = until;
}

void TrafficSource::start(pdes::Context& context) {
  if (number_of_[context.index()] != no_number) {
    plan(context, 0);
  }
}

// The next message, in `from` at the earliest.
void TrafficSource::plan(pdes::Context& context, std::uint64_t from) {
  const TrafficMessage message =
      stream_.next(context.self(), number_of_[context.index()], states_[context.index()], from);
  const SimTime at = setup_.cycle * static_cast<std::int64_t>(message.cycle);
  context.send_self(at - context.now(), pdes::Port(setup_.slot, send_event), message);
}

void TrafficSource::handle(pdes::Context& context, const pdes::Event& event) {
  if (event.port.kind() == send_event) {
    if (stopped_) {
      return;
    }
    const auto [cycle, target] = event.as<TrafficMessage>();
    send(context, setup_.network_slot, nodes_[target], setup_.message,
         pdes::Port(setup_.slot, arrival_event), 0, cycle);
    ++counts_.sent;
    ++sent_in_all_;
    ++counts_.waiting;
    counts_.send_cycles += cycle;
    counts_.to_measure += is_measured(cycle) ? 1 : 0;
    plan(context, cycle + 1);
    return;
  }
  const std::uint64_t cycle = event.as<Arrival>().word;
  ++counts_.come;
  ++come_in_all_;
  --counts_.waiting;
  counts_.send_cycles -= cycle;
  if (is_measured(cycle)) {
    const SimTime latency = context.now() - setup_.cycle * static_cast<std::int64_t>(cycle);
    const auto ps = static_cast<std::uint64_t>(latency.ps());
    ++counts_.measured;
    counts_.latency_ps += ps;
    counts_.least_ps = std::min(counts_.least_ps, ps);
    counts_.most_ps = std::max(counts_.most_ps, ps);
  }
}

}  // namespace tessera::network
