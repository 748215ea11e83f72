// How long an all-reduce between the units of a served model takes where its messages share nothing
// with others: each takes the time of an idle network, and units come to it one after the other.
//
// Units are taken through the very state machines that exchanges of walked steps use
// (collective::AlgorithmRun), message by message; the outcome is kept by size and by how much later
// than the first one each unit comes, as it is the same whenever that is.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "tessera/executor/serving/serving.hpp"

namespace tessera::executor {

class ExchangeTimes {
 public:
  explicit ExchangeTimes(const ServingSetup& setup) : setup_(setup) {}

  // Times of the tenant's units, from those at which they come to those at which they go on.
  void pass(std::uint32_t tenant, const serving::Exchange& exchange, std::vector<SimTime>& times);
  std::size_t resident_bytes() const;

 private:
  // Tenant, first unit, units, bytes; and when each comes after the first.
  struct Key {
    std::uint32_t tenant = 0;
    std::uint32_t first = 0;
    std::uint64_t bytes = 0;
    std::vector<SimTime> since;
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  std::vector<SimTime> run(std::uint32_t tenant, const serving::Exchange& exchange,
                           const std::vector<SimTime>& since) const;

  static constexpr std::size_t most_kept = 20'000;

  const ServingSetup setup_;
  std::map<Key, std::vector<SimTime>> known_;
};

}  // namespace tessera::executor
