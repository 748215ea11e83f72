#include "search/ways.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "tessera/plan/outline.hpp"

namespace tessera::explore {
namespace {

constexpr std::uint32_t most_tiles = 256;  // of a stage that are looked at
constexpr double ps_a_second = 1e12;

double ps(SimTime time) {
  return static_cast<double>(time.ps());
}

double ps_per_byte(Bandwidth bandwidth) {
  return ps_a_second / static_cast<double>(bandwidth.bytes_per_second());
}

}  // namespace

WayFinder::WayFinder(const machine::Machine& of, const network::NetworkModel& network)
    : machine(of),
      routing(machine::make_routing(network.routing(), *of.topology)),
      overheads(network.overheads()) {
  const SimTime latency = machine.topology->smallest_latency();
  least_latency = latency.is_never() ? 0 : ps(latency);
  least_ps_per_byte = std::numeric_limits<double>::infinity();
  for (const machine::LinkClass& each : machine.topology->link_classes()) {
    least_ps_per_byte = std::min(least_ps_per_byte, ps_per_byte(each.bandwidth));
  }
  if (machine.topology->link_classes().empty()) {
    least_ps_per_byte = 0;
  }
}

Ways::Ways(const WayFinder& finder, const plan::Strategy& strategy)
    : finder_(finder),
      placement_(plan::placements().at(strategy.layout)(finder.machine, strategy.placement, {})),
      stages_(strategy.degrees.pipeline) {
  find_channels(strategy);
}

void Ways::find_channels(const plan::Strategy& strategy) {
  const machine::Machine& machine = finder_.machine;
  access_.resize(stages_);
  if (machine.channels.empty()) {
    return;
  }
  using Tiles = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
  std::map<std::uint32_t, Tiles> served;
  const std::uint32_t roles = placement_.stage_tiles();
  for (std::uint32_t role = 0; role < strategy.degrees.tiles(); ++role) {
    Tiles& tiles = served[machine.channel_of[placement_.tile(role).value()]];
    if (tiles.empty() || tiles.back().first != role / roles) {
      tiles.emplace_back(role / roles, 0);
    }
    ++tiles.back().second;
  }
  std::set<std::tuple<Tiles, Bytes, Bandwidth>> known;
  least_access_ = std::numeric_limits<double>::infinity();
  for (const auto& [number, tiles] : served) {
    const machine::MemoryChannel& channel = machine.channels[number];
    if (!known.insert({tiles, channel.capacity, channel.bandwidth}).second) {
      continue;
    }
    channels_.push_back({tiles, channel.capacity, channel.bandwidth, number});
    least_access_ = std::min(least_access_, ps_per_byte(channel.bandwidth));
    for (const auto& [stage, count] : tiles) {
      access_[stage] = std::max(access_[stage], count * ps_per_byte(channel.bandwidth));
    }
  }
}

std::vector<std::uint32_t> Ways::looked_at_stages() const {
  std::set<std::uint32_t> stages{0, stages_ / 2, stages_ - 1};
  return {stages.begin(), stages.end()};
}

std::uint32_t Ways::looked_at_tiles() const {
  return std::min(placement_.stage_tiles(), most_tiles);
}

Ways::Passage Ways::measure(const Pairs& pairs) const {
  const machine::Topology& topology = *finder_.machine.topology;
  std::unordered_map<std::uint64_t, std::uint32_t> loads;
  std::vector<std::vector<machine::Hop>> ways;
  const auto number_of = [](const machine::Hop& hop) {
    return std::uint64_t{hop.node.value()} << 16U | hop.port;
  };
  for (const auto& [from, to] : pairs) {
    ways.push_back(machine::hops_between(topology, *finder_.routing, from, to));
    for (const machine::Hop& hop : ways.back()) {
      ++loads[number_of(hop)];
    }
  }
  Passage all;
  for (const std::vector<machine::Hop>& way : ways) {
    double latency = ps(finder_.overheads.message);
    double slowest = 0;
    for (const machine::Hop& hop : way) {
      const machine::Link link = topology.link(hop.node, hop.port);
      const machine::LinkClass& link_class = topology.link_classes()[link.link_class];
      latency += ps(link_class.latency);
      slowest = std::max(slowest, loads.at(number_of(hop)) * ps_per_byte(link_class.bandwidth));
    }
    all.mean_latency += latency / static_cast<double>(ways.size());
    all.mean_ps_per_byte += slowest / static_cast<double>(ways.size());
    all.most_latency = std::max(all.most_latency, latency);
    all.most_ps_per_byte = std::max(all.most_ps_per_byte, slowest);
  }
  return all;
}

std::uint32_t Ways::channels_of(const plan::GroupShape& shape) {
  const auto [entry, fresh] = channels_of_.try_emplace(key_of(shape), 1);
  if (fresh && shape.parts == 1 && !shape.among_leaders) {
    entry->second = plan::channels_of(shape, placement_, *finder_.machine.topology);
  }
  return entry->second;
}

// Between members so far apart, in every channel.
const Ways::Passage& Ways::passage(const plan::GroupShape& shape, std::uint32_t channels,
                                   std::uint32_t distance) {
  const auto [entry, fresh] = passages_.try_emplace({key_of(shape), distance});
  if (!fresh) {
    return entry->second;
  }
  plan::GroupShape turned = shape;
  turned.channels = channels;
  Passage& worst = entry->second;
  for (const std::uint32_t stage : looked_at_stages()) {
    Pairs pairs;
    for (std::uint32_t place = 0; place < looked_at_tiles(); ++place) {
      const std::uint32_t member = turned.member(place);
      for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::uint32_t next = (turned.turned(member, channel) + distance) % shape.size;
        const std::uint32_t other = turned.place_of(turned.turned_back(next, channel), place);
        pairs.emplace_back(tile(stage, place), tile(stage, other));
      }
    }
    const Passage here = measure(pairs);
    worst.mean_latency = std::max(worst.mean_latency, here.mean_latency);
    worst.most_latency = std::max(worst.most_latency, here.most_latency);
    worst.mean_ps_per_byte = std::max(worst.mean_ps_per_byte, here.mean_ps_per_byte);
    worst.most_ps_per_byte = std::max(worst.most_ps_per_byte, here.most_ps_per_byte);
  }
  return worst;
}

const Ways::Pattern& Ways::pattern(const collective::Algorithm& algorithm, collective::Kind kind,
                                   std::uint32_t size) {
  const auto [entry, fresh] = patterns_.try_emplace({&algorithm, kind, size});
  if (fresh) {
    const std::uint32_t steps = algorithm.steps(kind, size);
    constexpr std::uint64_t a_chunk = 1U << 20U;
    double sent = 0;
    for (std::uint32_t step = 0; step < steps; ++step) {
      const collective::Step now = algorithm.step(kind, size, 0, Bytes(a_chunk * size), step);
      sent += static_cast<double>(std::max(now.send_bytes, now.receive_bytes).count());
    }
    entry->second = {static_cast<double>(steps), sent / static_cast<double>(a_chunk * size)};
  }
  return entry->second;
}

double Ways::steps(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                   collective::Kind kind) {
  return shape.together() > 1
             ? pattern(algorithm, kind, shape.together()).steps * channels_of(shape)
             : 0;
}

Span Ways::time(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                collective::Kind kind, Bytes bytes) {
  const std::uint32_t size = shape.together();
  if (size <= 1 || bytes == Bytes(0)) {
    return {};
  }
  const std::uint32_t channels = channels_of(shape);
  const Pattern& steps = pattern(algorithm, kind, size);
  const double sent = steps.share * static_cast<double>(bytes.count()) / channels;
  const bool far = kind == collective::Kind::all_to_all;
  const Passage& way = passage(shape, channels, far ? std::max(1U, shape.size / 2) : 1);
  const double overhead = ps(finder_.overheads.collective);
  const double one_by_one = steps.steps * way.mean_latency + sent * way.mean_ps_per_byte;
  const double behind = way.most_latency + sent * way.most_ps_per_byte;
  const double message = ps(finder_.overheads.message) + finder_.least_latency;
  // Chunks differ by a byte; of other kinds not every member takes part in every step.
  const bool all_steps = algorithm.is_steady(kind);
  const double least = all_steps ? steps.steps * message +
                                       std::max(0.0, sent - steps.steps) * finder_.least_ps_per_byte
                                 : message;
  return {overhead + least, overhead + std::max(one_by_one, behind)};
}

Span Ways::boundary(Bytes bytes) {
  if (stages_ == 1 || bytes == Bytes(0)) {
    return {};
  }
  const auto [entry, fresh] = boundary_.try_emplace(0);
  if (fresh) {
    for (const std::uint32_t stage : looked_at_stages()) {
      Pairs pairs;
      for (std::uint32_t place = 0; place < looked_at_tiles(); ++place) {
        pairs.emplace_back(tile(stage, place), tile((stage + 1) % stages_, place));
      }
      const Passage here = measure(pairs);
      if (stage + 1 < stages_ && here.most_ps_per_byte > entry->second.most_ps_per_byte) {
        entry->second = here;
      }
    }
  }
  const auto count = static_cast<double>(bytes.count());
  return {ps(finder_.overheads.message) + finder_.least_latency + count * finder_.least_ps_per_byte,
          entry->second.most_latency + count * entry->second.most_ps_per_byte};
}

}  // namespace tessera::explore
