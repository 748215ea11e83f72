#include "search/ways.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "tessera/network/sharing.hpp"
#include "tessera/plan/outline.hpp"

namespace tessera::explore {
namespace {

constexpr std::uint32_t most_tiles = 256;  // of a stage that are looked at
constexpr double most_sends = 1e6;         // of all tiles that a bound looks at
constexpr std::uint64_t a_chunk = 1U << 20U;
constexpr double ps_a_second = 1e12;

double ps(SimTime time) {
  return static_cast<double>(time.ps());
}

double ps_per_byte(Bandwidth bandwidth) {
  return ps_a_second / static_cast<double>(bandwidth.bytes_per_second());
}

}  // namespace

WayFinder::WayFinder(const machine::Machine& of, const network::NetworkModel& network,
                     const memory::MemoryModel* of_memory)
    : machine(of),
      memory(of_memory),
      routing(machine::make_routing(network.routing(), *of.topology)),
      overheads(network.overheads()),
      sharing(network::sharing_of(network)),
      uses_links(network.uses_links()),
      traffic_(network.predict_traffic(of)) {
  if (!uses_links) {
    least_latency = ps(network.idle_time({}, Bytes(0)) - overheads.message);
    least_ps_per_byte =
        (ps(network.idle_time({}, Bytes(a_chunk))) - ps(network.idle_time({}, Bytes(0)))) / a_chunk;
    return;
  }
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

// Without links, the port of the one and that of the other.
std::vector<Leg> WayFinder::legs(EntityId from, EntityId to) const {
  std::vector<Leg> legs;
  if (!uses_links) {
    if (from != to) {
      legs.push_back({2 * std::uint64_t{from.value()}, least_latency, least_ps_per_byte});
      legs.push_back({2 * std::uint64_t{to.value()} + 1, 0, least_ps_per_byte});
    }
    return legs;
  }
  const machine::Topology& topology = *machine.topology;
  for (const machine::Hop& hop : machine::hops_between(topology, *routing, from, to)) {
    const machine::LinkClass& link =
        topology.link_classes()[topology.link(hop.node, hop.port).link_class];
    const bool is_port = sharing == plan::Sharing::ports && legs.empty();
    legs.push_back({link_number(hop), ps(link.latency), ps_per_byte(link.bandwidth),
                    share_links() || is_port});
  }
  return legs;
}

Way WayFinder::way(EntityId from, EntityId to) const {
  const auto [entry, fresh] = ways_.try_emplace(std::uint64_t{from.value()} << 32U | to.value());
  if (fresh) {
    Way& found = entry->second;
    found.latency = ps(overheads.message);
    for (const Leg& leg : legs(from, to)) {
      found.latency += leg.latency;
      found.ps_per_byte = std::max(found.ps_per_byte, leg.ps_per_byte);
    }
  }
  return entry->second;
}

Ways::Ways(const WayFinder& finder, const plan::Strategy& strategy)
    : finder_(finder),
      placement_(plan::placements().at(strategy.layout)(finder.machine, strategy.placement, {})),
      stages_(strategy.degrees.pipeline),
      crowded_(finder.machine, *finder.routing,
               finder.share_links() && finder.uses_links ? finder.memory : nullptr, placement_,
               stages_) {
  find_channels(strategy);
}

double WayFinder::events(EntityId from, EntityId to, Bytes bytes) const {
  double events = 0;
  traffic_->visit_runs(from, to, bytes, [&events](const network::PredictedTraffic::Run& run) {
    events += static_cast<double>(run.events) * run.nodes;
  });
  return events;
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
  std::set<std::tuple<Tiles, Bytes, std::optional<Bandwidth>, Bandwidth>> known;
  least_access_ = std::numeric_limits<double>::infinity();
  for (const auto& [number, tiles] : served) {
    const machine::MemoryChannel& channel = machine.channels[number];
    const std::optional<Bandwidth> peak =
        finder_.memory == nullptr ? channel.bandwidth : finder_.memory->peak_of(machine, number);
    if (!known.insert({tiles, channel.capacity, peak, channel.bandwidth}).second) {
      continue;
    }
    shares_channels_ = shares_channels_ && peak.has_value();
    const bool nearest = finder_.memory == nullptr || finder_.memory->serves_at_node();
    channels_.push_back({tiles, channel.capacity, nearest ? peak : std::nullopt, number});
    const double alone = ps_per_byte(peak.value_or(channel.bandwidth));
    least_access_ = nearest ? std::min(least_access_, alone) : 0;
    for (const auto& [stage, count] : tiles) {
      access_[stage] = std::max(access_[stage], (peak ? count : 1U) * alone);
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
  std::unordered_map<std::uint64_t, std::uint32_t> loads;
  std::vector<std::vector<Leg>> ways;
  for (const auto& [from, to] : pairs) {
    ways.push_back(finder_.legs(from, to));
    for (const Leg& leg : ways.back()) {
      ++loads[leg.number];
    }
  }
  Passage all;
  for (const std::vector<Leg>& way : ways) {
    double latency = ps(finder_.overheads.message);
    double slowest = 0;
    for (const Leg& leg : way) {
      latency += leg.latency;
      slowest = std::max(slowest, (leg.is_shared ? loads.at(leg.number) : 1) * leg.ps_per_byte);
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

// Of the rings of all stages, in the first channel, those that differ.
const std::vector<RingFloor>& Ways::floors_of(const plan::GroupShape& shape) {
  const auto [entry, fresh] = floors_.try_emplace(key_of(shape));
  if (!fresh) {
    return entry->second;
  }
  std::set<RingFloor> known;
  std::vector<Way> ways(shape.size);
  for (std::uint32_t stage = 0; stage < stages_; ++stage) {
    for (std::uint32_t place = 0; place < placement_.stage_tiles(); ++place) {
      if (shape.member(place) != 0) {
        continue;
      }
      for (std::uint32_t member = 0; member < shape.size; ++member) {
        const std::uint32_t next = (member + 1) % shape.size;
        ways[member] = finder_.way(tile(stage, shape.place_of(member, place)),
                                   tile(stage, shape.place_of(next, place)));
      }
      known.insert(RingFloor(ways));
    }
  }
  entry->second.assign(known.begin(), known.end());
  return entry->second;
}

// Of the ring that is fastest. Where groups have parts or leaders there is no bound here.
double Ways::least_of_ring(const plan::GroupShape& shape, double steps, double chunk) {
  if (shape.parts > 1 || shape.among_leaders) {
    return 0;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const RingFloor& floor : floors_of(shape)) {
    least = std::min(least, floor.least(steps, chunk, finder_.share_links()));
  }
  return least;
}

// Of all that a member sends: no message is there earlier than the latency, nor the last one before
// the busiest link has carried all that goes over it; by byte of the vector.
Way Ways::way_of_sends(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                       collective::Kind kind, std::uint32_t role) const {
  const std::uint32_t place = role % placement_.stage_tiles();
  const EntityId from = placement_.tile(role);
  std::unordered_map<std::uint64_t, double> loads;
  Way all{std::numeric_limits<double>::infinity(), 0};
  for (std::uint32_t step = 0; step < algorithm.steps(kind, shape.size); ++step) {
    const collective::Step now =
        algorithm.step(kind, shape.size, shape.member(place), Bytes(a_chunk * shape.size), step);
    if (now.send_to == collective::nobody || now.send_bytes == Bytes(0)) {
      continue;
    }
    const double share =
        static_cast<double>(now.send_bytes.count()) / static_cast<double>(a_chunk * shape.size);
    const EntityId to = tile(role / placement_.stage_tiles(), shape.place_of(now.send_to, place));
    all.latency = std::min(all.latency, finder_.way(from, to).latency);
    for (const Leg& leg : finder_.legs(from, to)) {
      double& load = loads[leg.number];
      load += share * leg.ps_per_byte;
      all.ps_per_byte = std::max(all.ps_per_byte, load);
    }
  }
  return loads.empty() ? Way{} : all;
}

std::optional<std::size_t> Ways::slot_of(const plan::GroupShape& shape,
                                         const collective::Algorithm& algorithm,
                                         collective::Kind kind) {
  const bool known = shape.size > 1 && shape.parts == 1 && !shape.among_leaders &&
                     algorithm.lanes(kind) == 1 && channels_of(shape) == 1 &&
                     !finder_.overheads.library.is_named();
  return known ? crowded_.slot_of(shape, algorithm, kind) : std::nullopt;
}

// Of all tiles, in the first channel, those that differ; none where that is too much to look at.
const std::vector<Way>& Ways::sends_of(const plan::GroupShape& shape,
                                       const collective::Algorithm& algorithm,
                                       collective::Kind kind) {
  const auto [entry, fresh] = sends_.try_emplace({key_of(shape), &algorithm, kind});
  const std::uint32_t roles = stages_ * placement_.stage_tiles();
  if (fresh && algorithm.lanes(kind) == 1 &&
      double{1} * roles * algorithm.steps(kind, shape.size) <= most_sends) {
    std::set<Way> known;
    for (std::uint32_t role = 0; role < roles; ++role) {
      known.insert(way_of_sends(shape, algorithm, kind, role));
    }
    entry->second.assign(known.begin(), known.end());
  }
  return entry->second;
}

// A member sends nothing before it has begun: so the last to begin ends, or has others end, no
// earlier than this after it.
double Ways::least_of_sends(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                            collective::Kind kind, double bytes) {
  if (shape.parts > 1 || shape.among_leaders || !finder_.share_links()) {
    return 0;
  }
  const std::vector<Way>& all = sends_of(shape, algorithm, kind);
  double least = all.empty() ? 0 : std::numeric_limits<double>::infinity();
  for (const Way& way : all) {
    least = std::min(least, way.latency + std::max(0.0, bytes - shape.size) * way.ps_per_byte);
  }
  return least;
}

const Ways::Pattern& Ways::pattern(const collective::Algorithm& algorithm, collective::Kind kind,
                                   std::uint32_t size) {
  const auto [entry, fresh] = patterns_.try_emplace({&algorithm, kind, size});
  if (fresh) {
    const std::uint32_t steps = algorithm.steps(kind, size);
    double sent = 0;
    for (std::uint32_t step = 0; step < steps; ++step) {
      const collective::Step now = algorithm.step(kind, size, 0, Bytes(a_chunk * size), step);
      sent += static_cast<double>(std::max(now.send_bytes, now.receive_bytes).count());
    }
    entry->second = {static_cast<double>(steps), sent / static_cast<double>(a_chunk * size)};
  }
  return entry->second;
}

double Ways::events(const plan::GroupShape& shape, const collective::Algorithm& algorithm,
                    collective::Kind kind, Bytes bytes) {
  if (shape.together() <= 1) {
    return 0;
  }
  const Pattern& sends = pattern(algorithm, kind, shape.together());
  const std::uint32_t channels = channels_of(shape);
  const double chunk = sends.share * static_cast<double>(bytes.count()) / (sends.steps * channels);
  const std::uint32_t other = (shape.member(0) + distance_of(shape, kind)) % shape.size;
  return sends.steps * channels *
         finder_.events(tile(0, 0), tile(0, shape.place_of(other, 0)),
                        Bytes(static_cast<std::uint64_t>(chunk)));
}

std::uint32_t Ways::distance_of(const plan::GroupShape& shape, collective::Kind kind) {
  return kind == collective::Kind::all_to_all ? std::max(1U, shape.size / 2) : 1;
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
  const Passage& way = passage(shape, channels, distance_of(shape, kind));
  const double overhead = ps(finder_.overheads.collective.before(kind, size, bytes));
  const double one_by_one = steps.steps * way.mean_latency + sent * way.mean_ps_per_byte;
  const double behind = way.most_latency + sent * way.most_ps_per_byte;
  const double message = ps(finder_.overheads.message) + finder_.least_latency;
  // Chunks differ by a byte; of other kinds not every member takes part in every step.
  const double least_sent = std::max(0.0, sent - steps.steps);
  double least = message;
  if (algorithm.is_steady(kind)) {
    least = steps.steps * message + least_sent * finder_.least_ps_per_byte;
  }
  if (algorithm.is_passed_on(kind)) {
    least = std::max(least, least_of_ring(shape, steps.steps, least_sent / steps.steps));
  } else if (kind == collective::Kind::all_to_all) {
    const double of_channel = static_cast<double>(bytes.count()) / channels;
    least = std::max(least, least_of_sends(shape, algorithm, kind, of_channel));
  }
  if (finder_.overheads.library.is_named()) {
    least = 0;  // which may know a faster way
  }
  return {overhead + least, overhead + std::max(one_by_one, behind)};
}

double Ways::least_crossing(std::uint32_t stage, Bytes bytes) {
  if (stage + 1 >= stages_ || bytes == Bytes(0)) {
    return 0;
  }
  const auto [entry, fresh] = crossings_.try_emplace(stage);
  if (fresh) {
    std::set<Way> known;
    for (std::uint32_t place = 0; place < placement_.stage_tiles(); ++place) {
      known.insert(finder_.way(tile(stage, place), tile(stage + 1, place)));
      known.insert(finder_.way(tile(stage + 1, place), tile(stage, place)));
    }
    entry->second.assign(known.begin(), known.end());
  }
  double least = std::numeric_limits<double>::infinity();
  for (const Way& way : entry->second) {
    least = std::min(least, way.latency + static_cast<double>(bytes.count()) * way.ps_per_byte);
  }
  return least;
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

// There and back, with half of it each time.
double Ways::sum_of_ends(Bytes bytes) {
  if (!between_ends_) {
    between_ends_.emplace();
    for (std::uint32_t place = 0; place < looked_at_tiles(); ++place) {
      const Way way = finder_.way(tile(0, place), tile(stages_ - 1, place));
      between_ends_->latency = std::max(between_ends_->latency, way.latency);
      between_ends_->ps_per_byte = std::max(between_ends_->ps_per_byte, way.ps_per_byte);
    }
  }
  return 2 * between_ends_->latency +
         static_cast<double>(bytes.count()) * between_ends_->ps_per_byte;
}

}  // namespace tessera::explore
