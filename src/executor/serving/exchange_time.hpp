// How long an exchange between the units of a served model takes where nobody else sends: messages
// take the time of an idle network, those of a unit that leave by one port one after the other, and
// units come to it one after the other.
//
// Units are taken through the very state machines that exchanges of walked steps use
// (collective::AlgorithmRun), message by message; the outcome is kept by size and by how much later
// than the first one each unit comes and each port is free, as it is the same whenever that is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "serving/idle_ports.hpp"
#include "tessera/executor/serving/serving.hpp"

namespace tessera::executor {

// Of a tenant.
struct UnitRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

class ExchangeTimes {
 public:
  explicit ExchangeTimes(const ServingSetup& setup) : setup_(setup) {}

  // Times of the tenant's units, from those at which they come to those at which they go on. An
  // all-reduce, or an all-to-all.
  void pass(std::uint32_t tenant, const serving::Exchange& exchange, std::vector<SimTime>& times,
            IdlePorts& ports);
  // Whether ports of a unit by which these send to each other have not sent all at that time.
  bool is_busy(std::uint32_t tenant, const UnitRange& units, std::uint32_t unit,
               const IdlePorts& ports, SimTime time);
  std::size_t resident_bytes() const;

 private:
  using Ports = std::set<std::pair<EntityId, unsigned>>;

  // When each unit comes after the first, and what ports still send then by which they exchange.
  struct Key {
    std::uint32_t tenant = 0;
    std::uint32_t first = 0;
    collective::Kind kind = collective::Kind::all_reduce;
    std::uint64_t bytes = 0;
    std::vector<SimTime> since;
    std::vector<BusyPort> busy;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // When units go on, and ports that send beyond that.
  struct Outcome {
    std::vector<SimTime> over;
    std::vector<BusyPort> busy;
  };

  bool uses(std::uint32_t tenant, const UnitRange& units, const BusyPort& busy);
  Outcome run(const serving::Exchange& exchange, const Key& key) const;

  static constexpr std::size_t most_kept = 20'000;

  const ServingSetup setup_;
  std::map<Key, Outcome> known_;
  // By tenant, first unit and number of units.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, Ports> used_;
};

}  // namespace tessera::executor
