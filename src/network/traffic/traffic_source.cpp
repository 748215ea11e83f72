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

TrafficSource::TrafficSource(const TrafficSetup& setup, const TrafficPattern& pattern,
                             const InjectionProcess& process)
    : setup_(setup),
      pattern_(pattern),
      process_(process),
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
  return nodes_.capacity() * sizeof(EntityId) + number_of_.capacity() * sizeof(std::uint32_t) +
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
    plan(context, 0, true);
  }
}

// The next message, in `from` at the earliest.
void TrafficSource::plan(pdes::Context& context, std::uint64_t from, bool first) {
  InjectionState& state = states_[context.index()];
  RandomStream random(setup_.seed, context.self(), random_stream, state.draws);
  const std::uint64_t cycle = from + process_.gap(state, random, first);
  state.draws = random.index();
  const SimTime at = setup_.cycle * static_cast<std::int64_t>(cycle);
  context.send_self(at - context.now(), pdes::Port(setup_.slot, send_event), cycle);
}

void TrafficSource::handle(pdes::Context& context, const pdes::Event& event) {
  if (event.port.kind() == send_event) {
    const auto cycle = event.as<std::uint64_t>();
    InjectionState& state = states_[context.index()];
    RandomStream random(setup_.seed, context.self(), random_stream, state.draws);
    const EntityId target = nodes_[pattern_.target(number_of_[context.index()], random)];
    state.draws = random.index();
    send(context, setup_.network_slot, target, setup_.message,
         pdes::Port(setup_.slot, arrival_event), 0, cycle);
    ++counts_.sent;
    ++counts_.waiting;
    counts_.send_cycles += cycle;
    counts_.to_measure += is_measured(cycle) ? 1 : 0;
    plan(context, cycle + 1, false);
    return;
  }
  const std::uint64_t cycle = event.as<Arrival>().word;
  ++counts_.come;
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
