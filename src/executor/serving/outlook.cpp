#include "serving/outlook.hpp"

#include <algorithm>

#include "serving/host/host.hpp"
#include "serving/messages.hpp"
#include "serving/pairs.hpp"
#include "serving/walks.hpp"
#include "tessera/core/digest.hpp"

namespace tessera::executor {

using serving::WalkPart;

namespace {

// Words of different kinds of messages may be equal.
std::uint64_t key_of(unsigned kind, std::uint64_t word) {
  return mix64(word + std::uint64_t{kind} * 0x9E3779B97F4A7C15U);
}

constexpr Resumption at_next{Resumption::Kind::next, SimTime::zero()};
constexpr Resumption at_input{Resumption::Kind::input, SimTime::zero()};

// As many of a tenant on one tile as may be under way at a time.
std::uint32_t steps_at(const ServingWork& work, std::uint32_t npu) {
  std::uint32_t steps = 0;
  for (const ServiceSettings& tenant : work.tenants) {
    const bool is_there =
        std::find(tenant.npus.begin(), tenant.npus.end(), npu) != tenant.npus.end();
    steps += is_there ? tenant.batching.in_flight : 0;
  }
  return steps;
}

bool shares_tiles(const ServingWork& work) {
  for (std::uint32_t npu = 0; npu < work.npus.size(); ++npu) {
    const auto tenants = std::count_if(
        work.tenants.begin(), work.tenants.end(), [npu](const ServiceSettings& tenant) {
          return std::find(tenant.npus.begin(), tenant.npus.end(), npu) != tenant.npus.end();
        });
    if (tenants > 1) {
      return true;
    }
  }
  return false;
}

}  // namespace

ServingOutlook::ServingOutlook(const ServingSetup& setup, std::span<const std::uint32_t> core_of,
                               const std::vector<ServingCore>& cores, ServingWalks& walks,
                               const std::unique_ptr<ServingHost>& host)
    : WatchedOutlook(setup.outlook, setup.members, setup.machine.topology->nodes()),
      work_(setup.work),
      core_of_(core_of),
      cores_(cores),
      walks_(walks),
      host_(host),
      prepares_(!shares_tiles(setup.work) && setup.work.policy()->begins_at_once()),
      is_silent_(setup.work.whole_steps &&
                 std::none_of(setup.work.tenants.begin(), setup.work.tenants.end(),
                              [](const ServiceSettings& tenant) { return tenant.prefill > 0; })) {}

void ServingOutlook::watch_all() {
  for (std::uint32_t index = 0; index < core_of_.size(); ++index) {
    if (core_of_[index] == no_core) {
      continue;
    }
    index_at_[member(index)] = index;
    if (member(index) == work_.host()) {
      host_index_ = index;
    }
    watch_tile(index, cores_[core_of_[index]]);
  }
}

EntityId ServingOutlook::node_of(std::uint32_t tenant, std::uint32_t unit) const {
  return work_.npus[work_.tenants[tenant].npus[unit]].front();
}

std::uint32_t ServingOutlook::index_of(EntityId node) const {
  const auto found = index_at_.find(node);
  return found == index_at_.end() ? no_core : found->second;
}

// With whole steps tiles are told nothing that they answer, but to hand over.
void ServingOutlook::watch_tile(std::uint32_t index, const ServingCore& core) {
  Ways ways;
  const EntityId own = member(index);
  ways.may_begin_beside = steps_at(work_, core.place.npu) > 1;
  if (!is_silent_) {
    add_exit(ways.heard, own, work_.host());
  }
  bool sends = !ways.heard.empty();
  for (std::uint32_t number = 0; number < work_.tenants.size() && !is_silent_; ++number) {
    const ServiceSettings& tenant = work_.tenants[number];
    const auto found = std::find(tenant.npus.begin(), tenant.npus.end(), core.place.npu);
    if (found != tenant.npus.end()) {
      ways.units.push_back(
          ways_of(tenant, number, static_cast<std::uint32_t>(found - tenant.npus.begin())));
      const UnitWays& unit = ways.units.back();
      sends = sends || !unit.exchange.empty() || !unit.hand_on.empty() || !unit.carry.empty();
    }
  }
  if (index == host_index_) {
    ways.told.resize(work_.tenants.size());
    for (std::uint32_t number = 0; number < work_.tenants.size(); ++number) {
      const ServiceSettings& tenant = work_.tenants[number];
      for (std::uint32_t unit = 0; unit < tenant.npus.size(); ++unit) {
        add_exit(ways.told[tenant.lead], own, node_of(number, unit));
      }
      sends = sends || !ways.told[tenant.lead].empty();
    }
  }
  if (sends) {
    watch(index);
    ways_.push_back(std::move(ways));
  }
}

ServingOutlook::UnitWays ServingOutlook::ways_of(const ServiceSettings& tenant,
                                                 std::uint32_t number, std::uint32_t unit) const {
  UnitWays ways{number, unit, {}, {}, {}};
  const EntityId own = node_of(number, unit);
  visit_receivers(tenant, unit, [&](std::uint32_t to, bool hands_on) {
    add_exit(hands_on ? ways.hand_on : ways.exchange, own, node_of(number, to));
  });
  for (std::uint32_t to = tenant.lead + tenant.prefill;
       work_.prefills(number) && to < tenant.lead + tenant.replicas; ++to) {
    add_exit(ways.carry, own, node_of(to, unit));
  }
  return ways;
}

const ServingOutlook::UnitWays& ServingOutlook::unit_ways(std::uint32_t tenant) const {
  const std::vector<UnitWays>& units = ways_[telling()].units;
  return *std::find_if(units.begin(), units.end(),
                       [tenant](const UnitWays& one) { return one.tenant == tenant; });
}

void ServingOutlook::sent(EntityId source, EntityId target, Bytes bytes, unsigned kind,
                          std::uint16_t tag, std::uint64_t word, SimTime now) {
  if (source != target) {
    send(source, target, bytes, {source, tag, key_of(kind, word), now});
  }
}

void ServingOutlook::came(std::uint32_t index, EntityId source, unsigned kind, std::uint16_t tag,
                          std::uint64_t word) {
  arrive(index, source, tag, key_of(kind, word));
}

void ServingOutlook::coming(const network::Progress& message) {
  if (message.source != message.target) {
    expect(message.target, {message.source, message.tag,
                            key_of(message.deliver.kind(), message.word), message.earliest});
  }
}

// What the host hears goes by where tiles here stand.
void ServingOutlook::happened(std::uint32_t index) {
  begin(index);
  if (host_index_ != no_core) {
    begin(host_index_);
  }
}

pdes::Outlook ServingOutlook::outlook(std::uint32_t rank, const pdes::Moment& moment) {
  return outlook_of(rank, moment);
}

void ServingOutlook::add_all(const Regions& regions, const Resumption& resumption,
                             SimTime further) {
  if (further.is_never()) {
    return;
  }
  for (const auto& [region, latency] : regions) {
    add(region, resumption, latency + further);
  }
}

Resumption ServingOutlook::message(std::uint32_t index, EntityId source, unsigned kind,
                                   std::uint16_t tag, std::uint64_t word, Bytes bytes) const {
  if (source == member(index)) {
    return at_next;
  }
  const std::uint64_t key = key_of(kind, word);
  const SimTime earliest = earliest_under_way(index, [&](const UnderWay& known) {
    return known.source == source && known.tag == tag && known.word == key;
  });
  return earliest.is_never() ? not_sent_yet(index, source, bytes)
                             : Resumption{Resumption::Kind::at, earliest};
}

// What is said of an entity holds until something happens at it.
void ServingOutlook::tell(std::uint32_t index) {
  stay_exact();
  const ServingCore& core = cores_[core_of_[index]];
  tell_tile(index, core);
  if (index == host_index_) {
    tell_host(index);
  }
}

void ServingOutlook::tell_tile(std::uint32_t index, const ServingCore& core) {
  const Ways& ways = ways_[telling()];
  for (const Walking& walking : core.walks) {
    if (!waits_here(core, walking)) {
      tell_walk(index, core, walking);
    }
  }
  const bool may_begin = core.walks.empty() || ways.may_begin_beside || !core.told.empty();
  if (may_begin) {
    tell_from_host(index, ways.heard);
  }
  for (const UnitWays& unit : ways.units) {
    if (may_begin) {
      tell_from_host(index, unit.exchange);
      tell_from_host(index, unit.hand_on);
    }
    tell_from_host(index, unit.carry);
    tell_taking_over(index, unit);
  }
}

// Behind another step of its tenant that is under way there.
bool ServingOutlook::waits_here(const ServingCore& core, const Walking& walking) {
  return !walking.has_begun &&
         std::any_of(core.walks.begin(), core.walks.end(), [&](const Walking& one) {
           return one.tenant == walking.tenant && one.has_begun;
         });
}

// A word of the host may let it send at once.
void ServingOutlook::tell_from_host(std::uint32_t index, const Regions& regions) {
  if (regions.empty()) {
    return;
  }
  const EntityId host = work_.host();
  if (host == member(index)) {
    add_all(regions, at_next, SimTime::zero());
    return;
  }
  add_all(regions, not_sent_yet(index, host, work_.message), SimTime::zero());
  const SimTime coming =
      earliest_under_way(index, [&](const UnderWay& known) { return known.source == host; });
  if (!coming.is_never()) {
    add_all(regions, {Resumption::Kind::at, coming}, SimTime::zero());
  }
}

// One that gets keys and values of others tells the host when they are there.
void ServingOutlook::tell_taking_over(std::uint32_t index, const UnitWays& unit) {
  const ServiceSettings& tenant = work_.tenants[unit.tenant];
  const Regions& heard = ways_[telling()].heard;
  if (tenant.prefill == 0 || work_.prefills(unit.tenant) || heard.empty()) {
    return;
  }
  for (std::uint32_t from = tenant.lead; from < tenant.lead + tenant.prefill; ++from) {
    const EntityId source = node_of(from, unit.unit);
    add_all(heard, not_sent_yet(index, source, Bytes(1)), SimTime::zero());
    const SimTime coming =
        earliest_under_way(index, [&](const UnderWay& known) { return known.source == source; });
    if (!coming.is_never()) {
      add_all(heard, {Resumption::Kind::at, coming}, SimTime::zero());
    }
  }
}

template <class Visit>
void ServingOutlook::visit_resumptions(std::uint32_t index, const ServingCore& core,
                                       const Walking& walking, const Visit& visit) {
  if (!walking.has_begun) {
    visit(at_next);
    return;
  }
  const ServiceSettings& tenant = work_.tenants[walking.tenant];
  const serving::Walk& walk = walks_.walk_of(walking);
  const WalkPart& part = walk[walking.at];
  switch (part.kind) {
    case WalkPart::Kind::operation: {
      const auto begun = std::find_if(core.begun.begin(), core.begun.end(),
                                      [&](const Begun& one) { return one.slot == walking.slot; });
      const SimTime time = walks_.time_of(walking, member(index));
      visit(begun == core.begun.end() ? at_next
                                      : Resumption{Resumption::Kind::at, begun->time + time});
      return;
    }
    case WalkPart::Kind::await: {
      const std::uint32_t before = walking.unit - tenant.model->units() / tenant.model->stages();
      visit(message(index, node_of(walking.tenant, before), serving_exchanged_kind, hand_on_tag,
                    ExchangeOf{walking.slot, 0, 0}.word(), Bytes(1)));
      return;
    }
    case WalkPart::Kind::hand_on:
      visit(at_next);
      return;
    case WalkPart::Kind::collective:
      break;
  }
  const bool is_known = core.exchanges.visit_awaited(
      walking.slot, [&](std::uint32_t unit, std::uint32_t step, const ExchangeOf& of, Bytes bytes) {
        visit(message(index, node_of(walking.tenant, unit), serving_exchanged_kind,
                      static_cast<std::uint16_t>(step), of.word(), bytes));
      });
  if (!is_known) {
    visit(at_next);
  }
}

void ServingOutlook::tell_walk(std::uint32_t index, const ServingCore& core,
                               const Walking& walking) {
  const UnitWays& unit = unit_ways(walking.tenant);
  const Regions& heard = ways_[telling()].heard;
  if (heard.empty() && unit.exchange.empty() && unit.hand_on.empty() && unit.carry.empty()) {
    return;
  }
  const RestOfWalk& rest = walks_.rest_of(walking, member(index));
  const WalkPart& part = walks_.walk_of(walking)[walking.at];
  const bool exchanges = part.kind == WalkPart::Kind::collective;
  const std::uint32_t then = walking.at + 1;
  // Behind the last part that sends, the next step does, which the host tells of after this one, or
  // has told of.
  const bool is_next_here = std::any_of(
      core.walks.begin(), core.walks.end(),
      [&](const Walking& one) { return one.tenant == walking.tenant && one.slot != walking.slot; });
  const SimTime again =
      rest.end[then] +
      (prepares_ && !is_next_here ? work_.tenants[walking.tenant].host : SimTime::zero());
  visit_resumptions(index, core, walking, [&](const Resumption& resumption) {
    add_all(heard, resumption, rest.end[then]);
    add_all(unit.exchange, resumption,
            exchanges ? SimTime::zero() : std::min(rest.exchange[then], again));
    add_all(unit.hand_on, resumption, std::min(rest.hand_on[then], again));
    add_all(unit.carry, resumption, SimTime::zero());  // layers, as they are computed
  });
}

// --- the host ------------------------------------------------------------------------------------

void ServingOutlook::add_leads(const Resumption& resumption, bool prepares) {
  const Ways& ways = ways_[telling()];
  SimTime least = SimTime::never();
  for (const ServiceSettings& tenant : work_.tenants) {
    least = std::min(least, tenant.prefill > 0 ? SimTime::zero() : tenant.host);
  }
  for (const Regions& regions : ways.told) {
    add_all(regions, resumption, prepares && prepares_ ? least : SimTime::zero());
  }
}

void ServingOutlook::tell_host(std::uint32_t index) {
  if (is_silent_) {
    tell_host_of_whole_steps();
    return;
  }
  const HostCalls& calls = host_->calls();
  if (!calls.are_known()) {
    add_leads(at_next, false);
    return;
  }
  if (const auto begin = calls.earliest(HostCall::begin)) {
    add_leads({Resumption::Kind::at, *begin}, false);
  }
  if (const auto arrival = calls.earliest(HostCall::arrive)) {
    add_leads({Resumption::Kind::at, *arrival}, true);
  }
  if (const auto prepared = calls.earliest(HostCall::prepared)) {
    add_leads({Resumption::Kind::at, *prepared}, false);
  }
  if (const auto whole = calls.earliest(HostCall::whole)) {
    add_leads({Resumption::Kind::at, *whole}, false);
  }
  tell_host_of_slots(index);
}

// What is under way is over at the soonest when the first of its parts is heard of.
void ServingOutlook::tell_host_of_slots(std::uint32_t index) {
  host_->visit_under_way([&](std::uint16_t slot, std::optional<std::uint32_t> tenant) {
    if (tenant && work_.whole_steps) {
      return;  // its end is known
    }
    const std::optional<Resumption> end = tenant ? end_of_slot(index, slot, *tenant) : std::nullopt;
    add_leads(end.value_or(at_next), tenant.has_value());
  });
}

SimTime ServingOutlook::estimate(const Resumption& resumption) const {
  return resumption.kind == Resumption::Kind::at     ? resumption.time
         : resumption.kind == Resumption::Kind::next ? now().next + resumption.time
                                                     : now().done + resumption.time;
}

// All units must be heard of, so that the last one that something is known of is a bound.
std::optional<Resumption> ServingOutlook::end_of_slot(std::uint32_t index, std::uint16_t slot,
                                                      std::uint32_t tenant) {
  std::optional<Resumption> last;
  const auto take = [&](const Resumption& end) {
    if (!last || estimate(end) > estimate(*last)) {
      last = end;
    }
  };
  const std::uint64_t heard = key_of(serving_heard_kind, 0);
  std::uint32_t coming_from_others = 0;
  visit_under_way(index, [&](const UnderWay& known) {
    if (known.tag == slot && known.word == heard) {
      take({Resumption::Kind::at, known.earliest});
      coming_from_others += setup().regions->is_here(known.source) ? 0 : 1;
    }
  });
  const ServiceSettings& served = work_.tenants[tenant];
  for (std::uint32_t unit = 0; unit < served.npus.size(); ++unit) {
    if (const auto end = end_at_tile(node_of(tenant, unit), slot)) {
      take(*end);
    }
  }
  if (host_->left_elsewhere(slot) > coming_from_others && !last) {
    return at_input;
  }
  return last;
}

// Of a step that is under way at a tile here.
std::optional<Resumption> ServingOutlook::end_at_tile(EntityId node, std::uint16_t slot) {
  const std::uint32_t at = index_of(node);
  if (at == no_core) {
    return std::nullopt;
  }
  const ServingCore& core = cores_[core_of_[at]];
  const auto walking = std::find_if(core.walks.begin(), core.walks.end(),
                                    [slot](const Walking& one) { return one.slot == slot; });
  if (walking == core.walks.end()) {
    return std::nullopt;
  }
  // Messages to a tile that sends nothing out are not watched: what it waits for may come next.
  const WalkPart& part = walks_.walk_of(*walking)[walking->at];
  Resumption first = at_next;
  if (part.kind == WalkPart::Kind::operation) {
    visit_resumptions(at, core, *walking, [&](const Resumption& one) { first = one; });
  }
  first.time += walks_.rest_of(*walking, node).end[walking->at + 1];
  const SimTime way = node == work_.host() ? SimTime::zero()
                                           : setup().least_time(node, work_.host(), work_.message);
  first.time += way;
  return first;
}

void ServingOutlook::tell_host_of_whole_steps() {
  const HostCalls& calls = host_->calls();
  const auto earliest = calls.earliest();
  Resumption resumption =
      calls.are_known() && earliest ? Resumption{Resumption::Kind::at, *earliest} : at_next;
  const SimTime last = host_->last_arrival();
  if (resumption.kind == Resumption::Kind::at) {
    resumption.time = std::max(resumption.time, last);
  } else if (last > now().next) {
    resumption = {Resumption::Kind::at, last};
  }
  add_leads(resumption, false);
}

}  // namespace tessera::executor
