// What links have carried, and how long they were in use.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::network {

class LinkAccount {
 public:
  using Link = std::uint32_t;

  explicit LinkAccount(std::size_t links) : totals_(links) {}

  // The first flow on an idle link begins.
  void wakes(Link link, SimTime now) { totals_[link].since = now; }
  // A flow is over; `is_idle`: it was the last. Of several that end at one instant all may be it.
  void carried(Link link, std::uint64_t bytes, bool is_idle, SimTime now) {
    Total& total = totals_[link];
    total.bytes += bytes;
    if (is_idle && total.since < now) {
      total.busy += now - total.since;
      total.since = now;
    }
  }
  // The last flow on a link, which began at `begin`, is booked elsewhere.
  void taken_out(Link link, SimTime begin) {
    Total& total = totals_[link];
    if (total.since < begin) {
      total.busy += begin - total.since;
    }
  }
  // While the link was idle for all others.
  void carried_alone(Link link, std::uint64_t bytes, SimTime busy) {
    totals_[link].bytes += bytes;
    totals_[link].busy += busy;
  }

  std::uint64_t bytes(Link link) const { return totals_[link].bytes; }
  SimTime busy(Link link, bool is_idle, SimTime now) const {
    const Total& total = totals_[link];
    return is_idle || now <= total.since ? total.busy : total.busy + (now - total.since);
  }

  void save(pdes::StateWriter& writer) const { writer.put_all(totals_); }
  void restore(pdes::StateReader& reader) { totals_ = reader.get_all<Total>(); }
  static constexpr std::size_t bytes_a_link() { return sizeof(Total); }

 private:
  struct Total {
    std::uint64_t bytes = 0;  // of flows that are over
    SimTime busy;             // before `since`
    SimTime since;            // while there are flows
  };
  std::vector<Total> totals_;
};

}  // namespace tessera::network
