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
      : setup_(setup), tenant_(setup.work.tenants[tenant]), exchange_(exchange) {
    for (collective::Member member = 0; member < exchange.units; ++member) {
      collective::AlgorithmPart part;
      part.algorithm = setup.work.all_reduce.get();
      part.kind = collective::Kind::all_reduce;
      part.size = exchange.units;
      part.member = member;
      part.bytes = exchange.bytes;
      units_.push_back({collective::AlgorithmRun(part), {}, false, SimTime::never()});
    }
  }

  std::vector<SimTime> make(const std::vector<SimTime>& since) {
    for (collective::Member member = 0; member < units_.size(); ++member) {
      coming_.push({since[member], sent_++, member, {}, true});
    }
    while (!coming_.empty()) {
      const Coming next = coming_.top();
      coming_.pop();
      take(next);
    }
    std::vector<SimTime> over;
    for (const Unit& unit : units_) {
      ensure(!unit.over.is_never(), "an all-reduce between units ends");
      over.push_back(unit.over);
    }
    return over;
  }

 private:
  class Actions;

  void take(const Coming& next);
  EntityId node_of(collective::Member member) const {
    return setup_.work.npus[tenant_.npus[exchange_.first + member]].front();
  }

  const ServingSetup& setup_;
  const ServedTenant& tenant_;
  const serving::Exchange& exchange_;
  std::vector<Unit> units_;
  std::priority_queue<Coming, std::vector<Coming>, std::greater<>> coming_;
  std::uint64_t sent_ = 0;
};

class ExchangeRun::Actions final : public collective::RunActions {
 public:
  Actions(ExchangeRun& run, collective::Member member, SimTime now)
      : all_(run), member_(member), now_(now) {}

  void send(std::uint32_t /*dimension*/, std::uint32_t to, const collective::StepName& name,
            Bytes bytes) override {
    const SimTime time = all_.setup_.message_time(all_.node_of(member_), all_.node_of(to),
                                                  std::max(bytes, Bytes(1)));
    all_.coming_.push({now_ + time, all_.sent_++, to, name, false});
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
    throw InternalError("steps of an all-reduce of NPUs take no time beside their messages");
  }

 private:
  ExchangeRun& all_;
  collective::Member member_;
  SimTime now_;
};

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
                         std::vector<SimTime>& times) {
  const auto begin = times.begin() + exchange.first;
  const auto end = begin + exchange.units;
  const SimTime first = *std::min_element(begin, end);
  Key key{tenant, exchange.first, exchange.bytes.count(), {}};
  for (auto time = begin; time != end; ++time) {
    key.since.push_back(*time - first);
  }
  auto found = known_.find(key);
  if (found == known_.end()) {
    if (known_.size() >= most_kept) {
      known_.clear();
    }
    std::vector<SimTime> over = run(tenant, exchange, key.since);
    found = known_.emplace(std::move(key), std::move(over)).first;
  }
  std::transform(found->second.begin(), found->second.end(), begin,
                 [first](SimTime over) { return first + over; });
}

std::vector<SimTime> ExchangeTimes::run(std::uint32_t tenant, const serving::Exchange& exchange,
                                        const std::vector<SimTime>& since) const {
  return ExchangeRun(setup_, tenant, exchange).make(since);
}

std::size_t ExchangeTimes::resident_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [key, over] : known_) {
    bytes += sizeof(key) + (key.since.size() + over.size()) * sizeof(SimTime) + 64;
  }
  return bytes;
}

}  // namespace tessera::executor
