#include "collective_time.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::plan {
namespace {

// Whether after it every member has heard from every other.
bool joins_all(collective::Kind kind) {
  using collective::Kind;
  return kind == Kind::all_reduce || kind == Kind::all_gather || kind == Kind::reduce_scatter ||
         kind == Kind::all_to_all || kind == Kind::barrier;
}

}  // namespace

// The members of the group of the tile in place `base`, on their way through a collective, which
// they may begin again.
class CollectiveClock::Members {
 public:
  // All must outlive this.
  Members(const CollectiveClock& clock, std::uint32_t stage, Group group, const GroupShape& shape,
          collective::Kind kind, Bytes bytes, std::uint32_t base)
      : clock_(clock),
        stage_(stage),
        group_(group),
        shape_(shape),
        kind_(kind),
        bytes_(bytes),
        base_(base),
        algorithm_(clock.plan_.algorithm(group)),
        steps_(Plan::steps_of(algorithm_, shape, kind) / shape.channels),
        ready_(std::size_t{shape.size} * shape.channels),
        free_(ready_.size()) {}

  // Each member from when it is ready.
  void go() {
    for (std::uint32_t step = 0; step < steps_; ++step) {
      // Steps that are steady look all like the first.
      if (transits_.empty() || !algorithm_.is_steady(kind_)) {
        loads_ = clock_.loads_of(stage_, group_, shape_, kind_, step);
        transits_.clear();
      }
      advance(step);
    }
    meet();
  }

  SimTime first() const { return *std::min_element(ready_.begin(), ready_.end()); }
  SimTime last() const { return *std::max_element(ready_.begin(), ready_.end()); }
  // Behind the first member: the others, and links that are in use still.
  std::vector<SimTime> lags() const {
    std::vector<SimTime> lags;
    const SimTime first = this->first();
    for (const auto* times : {&ready_, &free_}) {
      for (const SimTime time : *times) {
        lags.push_back(std::max(time, first) - first);
      }
    }
    return lags;
  }
  std::uint64_t steps() const { return std::uint64_t{steps_} * ready_.size(); }

 private:
  using From = std::tuple<collective::Member, collective::Member, Bytes>;

  void advance(std::uint32_t step) {
    std::vector<SimTime> next = ready_;
    for (std::uint32_t i = 0; i < ready_.size(); ++i) {
      const collective::Member member = i / shape_.channels;
      const std::uint32_t channel = i % shape_.channels;
      const collective::Step now = Plan::step_of(algorithm_, shape_, kind_, member, bytes_,
                                                 step * shape_.channels + channel);
      if (now.receive_from == collective::nobody) {
        continue;
      }
      const Transit& way = way_to(member, now);
      free_[i] =
          std::max(free_[i], ready_[now.receive_from * shape_.channels + channel]) + way.on_links;
      next[i] = std::max(next[i], free_[i] + way.latency);
    }
    ready_.swap(next);
  }

  const Transit& way_to(collective::Member member, const collective::Step& now) {
    const auto [place, fresh] =
        transits_.try_emplace(From{now.receive_from, member, now.receive_bytes});
    if (fresh) {
      place->second = clock_.transit(clock_.tile(stage_, shape_.place_of(now.receive_from, base_)),
                                     clock_.tile(stage_, shape_.place_of(member, base_)),
                                     now.receive_bytes, loads_);
    }
    return place->second;
  }

  // A member goes on when all its channels are through.
  void meet() {
    for (auto of = ready_.begin(); of != ready_.end(); of += shape_.channels) {
      std::fill_n(of, shape_.channels, *std::max_element(of, of + shape_.channels));
    }
  }

  const CollectiveClock& clock_;
  std::uint32_t stage_;
  Group group_;
  const GroupShape& shape_;
  collective::Kind kind_;
  Bytes bytes_;
  std::uint32_t base_;
  const collective::Algorithm& algorithm_;
  std::uint32_t steps_;
  // Of each member and channel: when its steps so far are over, and when the way of its last
  // message was free again.
  std::vector<SimTime> ready_;
  std::vector<SimTime> free_;
  Loads loads_;
  std::map<From, Transit> transits_;
};

SimTime CollectiveClock::time(std::uint32_t stage, Group group, const GroupShape& shape,
                              collective::Kind kind, Bytes bytes, Occasion occasion) {
  const auto [place, fresh] = known_.try_emplace({stage, group, kind, bytes, occasion});
  if (fresh && is_of_library(group, shape, kind)) {
    library_use_.has_some = true;
    place->second = of_library(stage, group, shape, kind, bytes);
  } else if (fresh) {
    if (transfers_.library.is_named() && shape.size > 1) {
      library_use_.others.emplace(group, kind);
    }
    place->second =
        occasion == Occasion::once || !joins_all(kind) || is_long_ring(group, shape, kind)
            ? once(stage, group, shape, kind, bytes, 0)
            : again(stage, group, shape, kind, bytes);
  }
  return place->second;
}

bool CollectiveClock::is_ring(Group group, const GroupShape& shape, collective::Kind kind) const {
  return sharing_ != Sharing::nothing && plan_.algorithm(group).is_passed_on(kind) &&
         shape.parts == 1 && !shape.among_leaders && shape.size > 1;
}

bool CollectiveClock::is_long_ring(Group group, const GroupShape& shape,
                                   collective::Kind kind) const {
  return is_ring(group, shape, kind) &&
         std::uint64_t{Plan::steps_of(plan_.algorithm(group), shape, kind)} * shape.size >
             most_steps;
}

SimTime CollectiveClock::once(std::uint32_t stage, Group group, const GroupShape& shape,
                              collective::Kind kind, Bytes bytes, std::uint32_t base) {
  if (is_ring(group, shape, kind)) {
    return around(stage, group, shape, kind, bytes, base);
  }
  Members members(*this, stage, group, shape, kind, bytes, base);
  members.go();
  return members.last();
}

SimTime CollectiveClock::again(std::uint32_t stage, Group group, const GroupShape& shape,
                               collective::Kind kind, Bytes bytes) {
  Members members(*this, stage, group, shape, kind, bytes, 0);
  members.go();
  return members.first() == members.last() ? members.last() : pace(members);
}

// Of members that have done it once.
SimTime CollectiveClock::pace(Members& members) {
  struct Before {
    std::int64_t round = 0;
    SimTime first;
  };
  const auto mean = [](SimTime span, std::int64_t rounds) {
    return SimTime::from_ps((span.ps() + rounds - 1) / rounds);
  };
  const auto most_rounds =
      std::max<std::int64_t>(2, static_cast<std::int64_t>(most_steps / (members.steps() + 1)));
  const SimTime begin = members.last();
  std::map<std::vector<SimTime>, Before> seen;
  for (std::int64_t round = 1;; ++round) {
    const auto [place, fresh] = seen.try_emplace(members.lags(), Before{round, members.first()});
    if (!fresh) {
      return mean(members.first() - place->second.first, round - place->second.round);
    }
    if (round == most_rounds) {
      return mean(members.last() - begin, round - 1);
    }
    members.go();
  }
}

SimTime CollectiveClock::slowest(std::uint32_t stage, Group group, const GroupShape& shape,
                                 collective::Kind kind, Bytes bytes) {
  std::vector<std::uint32_t> firsts;
  for (std::uint32_t place = 0; place < plan_.placement.stage_tiles(); ++place) {
    if (shape.member(place) == 0) {
      firsts.push_back(place);
    }
  }
  SimTime longest;
  const std::size_t looked_at = std::min<std::size_t>(firsts.size(), most_groups);
  for (std::size_t i = 0; i < looked_at; ++i) {
    const std::uint32_t base = firsts[i * firsts.size() / looked_at];
    longest = std::max(longest, once(stage, group, shape, kind, bytes, base));
  }
  return longest;
}

SimTime CollectiveClock::boundary(std::uint32_t stage, std::uint32_t other, const GroupShape& shape,
                                  Bytes bytes) const {
  Loads loads;
  std::vector<std::uint32_t> senders;
  for (std::uint32_t place = 0; place < plan_.placement.stage_tiles(); ++place) {
    if (shape.leads(shape.member(place))) {
      senders.push_back(place);
      add_load(tile(stage, place), tile(other, place), loads);
    }
  }
  SimTime longest;
  for (const std::uint32_t place : senders) {
    const Transit way = transit(tile(stage, place), tile(other, place), bytes, loads);
    longest = std::max(longest, way.latency + way.on_links);
  }
  return longest;
}

void CollectiveClock::add_load(EntityId from, EntityId to, Loads& loads) const {
  if (sharing_ == Sharing::nothing) {
    return;
  }
  for (const machine::Hop& hop : transfers_.hops(from, to)) {
    ++loads[hop];
    if (sharing_ == Sharing::ports) {
      return;
    }
  }
}

CollectiveClock::Loads CollectiveClock::loads_of(std::uint32_t stage, Group group,
                                                 const GroupShape& shape, collective::Kind kind,
                                                 std::uint32_t step, std::uint32_t every) const {
  Loads loads;
  for (std::uint32_t place = 0; place < plan_.placement.stage_tiles(); place += every) {
    const collective::Member member = shape.member(place);
    for (std::uint32_t channel = 0; channel < shape.channels; ++channel) {
      const collective::Step now = Plan::step_of(plan_.algorithm(group), shape, kind, member,
                                                 Bytes(0), step * shape.channels + channel);
      if (now.send_to != collective::nobody) {
        add_load(tile(stage, place), tile(stage, shape.place_of(now.send_to, place)), loads);
      }
    }
  }
  return loads;
}

// What waited for its port keeps its distance from the one before all the way.
std::uint32_t CollectiveClock::share_at(const machine::Hop& hop, const machine::Hop& first,
                                        const Loads& loads) const {
  switch (sharing_) {
    case Sharing::links:
      return loads.at(hop);
    case Sharing::ports:
      return loads.at(first);
    case Sharing::nothing:
      return 1;
  }
  throw InternalError("a way of sharing outside its list");
}

CollectiveClock::Transit CollectiveClock::transit(EntityId from, EntityId to, Bytes bytes,
                                                  const Loads& loads) const {
  Transit transit{transfers_.overhead, {}};
  const std::vector<machine::Hop> way = transfers_.hops(from, to);
  for (const machine::Hop& hop : way) {
    const machine::Link link = topology_.link(hop.node, hop.port);
    const machine::LinkClass& link_class = topology_.link_classes()[link.link_class];
    transit.latency += link_class.latency;
    const std::uint32_t share = share_at(hop, way.front(), loads);
    transit.on_links =
        std::max(transit.on_links, serialization_time(bytes * share, link_class.bandwidth));
  }
  if (sharing_ == Sharing::nothing) {  // nor does it wait for the one before
    transit.latency += std::exchange(transit.on_links, SimTime::zero());
  }
  return transit;
}

std::uint32_t CollectiveClock::boundary_share(std::uint32_t stage, std::uint32_t other,
                                              std::uint32_t tiles, const GroupShape& shape) const {
  Loads loads;
  for (std::uint32_t place = 0; place < tiles; ++place) {
    if (shape.leads(shape.member(place))) {
      add_load(tile(stage, place), tile(other, place), loads);
    }
  }
  std::uint32_t share = 1;
  const std::vector<machine::Hop> way = transfers_.hops(tile(stage, 0), tile(other, 0));
  for (const machine::Hop& hop : way) {
    share = std::max(share, share_at(hop, way.front(), loads));
  }
  return share;
}

double CollectiveClock::group_share(std::uint32_t stage, Group group, const GroupShape& shape,
                                    collective::Kind kind) {
  const auto [place, fresh] = known_shares_.try_emplace({stage, group, kind}, 1.0);
  if (!fresh || sharing_ == Sharing::nothing) {
    return place->second;
  }
  const collective::Algorithm& algorithm = plan_.algorithm(group);
  const std::uint32_t steps = Plan::steps_of(algorithm, shape, kind) / shape.channels;
  const std::uint32_t looked_at =
      algorithm.is_steady(kind) ? std::min(steps, 1U) : std::min(steps, most_groups);
  double sum = 0;
  for (std::uint32_t i = 0; i < looked_at; ++i) {
    const auto step = static_cast<std::uint32_t>(std::uint64_t{i} * steps / looked_at);
    const Loads all = loads_of(stage, group, shape, kind, step);
    double most = 1;
    for (const auto& [hop, load] :
         loads_of(stage, group, shape, kind, step, plan_.strategy.degrees.tensor)) {
      most = std::max(most, static_cast<double>(all.at(hop)) / load);
    }
    sum += most;
  }
  place->second = looked_at == 0 ? 1.0 : sum / looked_at;
  return place->second;
}

}  // namespace tessera::plan
