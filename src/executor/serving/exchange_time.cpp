#include "serving/exchange_time.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include "tessera/collective/algorithm_run.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

// A message on its way, or that a unit comes (`begins`).
struct Coming {
  SimTime time;
  std::uint64_t number = 0;  // of those at the same time that which was sent first
  collective::Member member = 0;
  collective::StepName name;
  bool begins = false;
  collective::Member from = 0;
  Bytes bytes;  // that are still to come in; none: they have

  bool operator>(const Coming& other) const {
    return std::tie(time, number) > std::tie(other.time, other.number);
  }
};

struct Unit {
  collective::AlgorithmRun run;
  std::vector<collective::StepName> early;
  bool has_begun = false;
  SimTime over = SimTime::never();
};

class ExchangeRun {
 public:
  ExchangeRun(const ServingSetup& setup, std::uint32_t tenant, const serving::Exchange& exchange)
      : work_(setup.work), tenant_(work_.tenants[tenant]), exchange_(exchange), ports_(setup) {
    for (collective::Member member = 0; member < exchange.units; ++member) {
      collective::AlgorithmPart part;
      part.algorithm = &work_.algorithm_of(exchange);
      part.kind = *exchange.collective;
      part.size = exchange.units;
      part.member = member;
      part.bytes = exchange.bytes;
      units_.push_back({collective::AlgorithmRun(part), {}, false, SimTime::never()});
    }
  }

  void make(const std::vector<SimTime>& since, const std::vector<BusyPort>& busy) {
    for (const BusyPort& port : busy) {
      ports_.set(port);
    }
    for (collective::Member member = 0; member < units_.size(); ++member) {
      coming_.push({since[member], sent_++, member, {}, true, member, Bytes()});
    }
    while (!coming_.empty()) {
      Coming next = coming_.top();
      coming_.pop();
      if (!waits(next)) {
        take(next);
      }
    }
  }
  std::vector<SimTime> over() const {
    std::vector<SimTime> all;
    for (const Unit& unit : units_) {
      ensure(!unit.over.is_never(), "an exchange between units ends");
      all.push_back(unit.over);
    }
    return all;
  }
  std::vector<BusyPort> busy() const {
    std::vector<BusyPort> all;
    for (collective::Member member = 0; member < units_.size(); ++member) {
      ports_.visit_busy(node_of(member), units_[member].over,
                        [&all](const BusyPort& busy) { all.push_back(busy); });
    }
    return all;
  }

 private:
  class Actions;

  void take(const Coming& next);
  bool waits(Coming& next);
  EntityId node_of(collective::Member member) const {
    return work_.npus[tenant_.npus[exchange_.first + member]].front();
  }

  const ServingWork& work_;
  const ServiceSettings& tenant_;
  const serving::Exchange& exchange_;
  IdlePorts ports_;
  std::vector<Unit> units_;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  std::uint64_t sent_ = 0;
};

// Of NPUs of cores each core exchanges its part with its likes, all at the same time.
class ExchangeRun::Actions final : public collective::RunActions {
 public:
  Actions(ExchangeRun& run, collective::Member member, SimTime now)
      : all_(run), member_(member), now_(now) {}

  void send(std::uint32_t /*dimension*/, std::uint32_t to, const collective::StepName& name,
            Bytes bytes) override {
    const Bytes part = collective::chunk_bytes(bytes, all_.work_.cores(), 0);
    const SimTime there =
        all_.ports_.send(all_.node_of(member_), all_.node_of(to), std::max(part, Bytes(1)), now_);
    all_.coming_.push({there, all_.sent_++, to, name, false, member_, std::max(part, Bytes(1))});
  }
  bool take_early(const collective::StepName& name) override {
    std::vector<collective::StepName>& early = all_.units_[member_].early;
    const auto found = std::find(early.begin(), early.end(), name);
    if (found == early.end()) {
      return false;
    }
    early.erase(found);
    return true;
  }
  void wait(SimTime /*time*/, const collective::StepName& /*name*/) override {
    throw InternalError("steps of an exchange of NPUs take no time beside their messages");
  }

 private:
  ExchangeRun& all_;
  collective::Member member_;
  SimTime now_;
};

// Whether it has to wait for others that came in by its last link.
bool ExchangeRun::waits(Coming& next) {
  if (next.bytes == Bytes()) {
    return false;
  }
  const SimTime there =
      ports_.receive(node_of(next.from), node_of(next.member), next.bytes, next.time);
  if (there == next.time) {
    return false;
  }
  next.time = there;
  next.number = sent_++;
  next.bytes = Bytes();
  coming_.push(next);
  return true;
}

void ExchangeRun::take(const Coming& next) {
  Unit& unit = units_[next.member];
  Actions actions(*this, next.member, next.time);
  if (next.begins) {
    unit.has_begun = true;
    unit.run.begin(actions);
  } else if (!unit.has_begun || !unit.run.arrived(next.name, actions)) {
    unit.early.push_back(next.name);
  }
  if (unit.run.is_over() && unit.over.is_never()) {
    unit.over = next.time;
  }
}

}  // namespace

void ExchangeTimes::pass(std::uint32_t tenant, const serving::Exchange& exchange,
                         std::vector<SimTime>& times, IdlePorts& ports) {
  const auto begin = times.begin() + exchange.first;
  const auto end = begin + exchange.units;
  const SimTime first = *std::min_element(begin, end);
  Key key{tenant, exchange.first, *exchange.collective, exchange.bytes.count(), {}, {}};
  const ServingWork& work = setup_.work;
  for (auto time = begin; time != end; ++time) {
    key.since.push_back(*time - first);
    const std::uint32_t npu =
        work.tenants[tenant].npus[static_cast<std::size_t>(time - times.begin())];
    ports.visit_busy(work.npus[npu].front(), *time, [&](const BusyPort& busy) {
      if (uses(tenant, {exchange.first, exchange.units}, busy)) {
        key.busy.push_back({busy.node, busy.port, busy.until - first});
      }
    });
  }
  auto found = known_.find(key);
  if (found == known_.end()) {
    if (known_.size() >= most_kept) {
      known_.clear();
    }
    Outcome outcome = run(exchange, key);
    found = known_.emplace(std::move(key), std::move(outcome)).first;
  }
  std::transform(found->second.over.begin(), found->second.over.end(), begin,
                 [first](SimTime over) { return first + over; });
  for (const BusyPort& busy : found->second.busy) {
    ports.set({busy.node, busy.port, first + busy.until});
  }
}

bool ExchangeTimes::is_busy(std::uint32_t tenant, const UnitRange& units, std::uint32_t unit,
                            const IdlePorts& ports, SimTime time) {
  const ServingWork& work = setup_.work;
  bool is_some = false;
  ports.visit_busy(work.npus[work.tenants[tenant].npus[unit]].front(), time,
                   [&](const BusyPort& busy) { is_some = is_some || uses(tenant, units, busy); });
  return is_some;
}

bool ExchangeTimes::uses(std::uint32_t tenant, const UnitRange& units, const BusyPort& busy) {
  const auto [found, is_new] = used_.try_emplace({tenant, units.first, units.count});
  Ports& used = found->second;
  if (is_new) {
    const auto node_of = [&](std::uint32_t unit) {
      return setup_.work.npus[setup_.work.tenants[tenant].npus[unit]].front();
    };
    for (std::uint32_t from = units.first; from < units.first + units.count; ++from) {
      for (std::uint32_t to = units.first; to < units.first + units.count; ++to) {
        if (from != to) {
          used.insert({node_of(from), setup_.port_towards(node_of(from), node_of(to))});
        }
      }
    }
  }
  return used.contains({busy.node, busy.port});
}

ExchangeTimes::Outcome ExchangeTimes::run(const serving::Exchange& exchange, const Key& key) const {
  ExchangeRun made(setup_, key.tenant, exchange);
  made.make(key.since, key.busy);
  return {made.over(), made.busy()};
}

std::size_t ExchangeTimes::resident_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, outcome] : known_) {
    bytes += sizeof(key) + (key.since.size() + outcome.over.size()) * sizeof(SimTime) +
             (key.busy.size() + outcome.busy.size()) * sizeof(BusyPort) + 64;
  }
  for (const auto& [units, ports] : used_) {
    bytes += sizeof(units) + ports.size() * (sizeof(Ports::value_type) + 40) + 64;
  }
  return bytes;
}

}  // namespace tessera::executor
