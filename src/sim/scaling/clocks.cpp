#include "tessera/sim/scaling/clocks.hpp"

#include <algorithm>

#include "tessera/core/error.hpp"

namespace tessera::sim {

RegionClocks::RegionClocks(std::uint32_t regions, const ClockCosts& costs)
    : costs_(costs), regions_(regions) {
  ensure(costs.message >= 0 && costs.remote_event >= 0 && costs.exchange >= 0 &&
             costs.wait_messages >= 1 && costs.exchange_every >= 0,
         "costs that a clock can count");
}

void RegionClocks::come_to(std::uint32_t number, pdes::WindowNumber window, std::uint64_t done) {
  Region& region = regions_[number];
  if (region.window != window) {
    region.window = window;
    region.perfect.come_to(done);
    region.promised.come_to(done);
  }
}

void RegionClocks::sent(std::uint32_t from) {
  regions_[from].perfect.spend(costs_.remote_event);
  regions_[from].promised.spend(costs_.remote_event);
}

void RegionClocks::received(std::uint32_t to, std::uint32_t from, const Stamp& stamp) {
  Region& region = regions_[to];
  region.perfect.wait_until(stamp.perfect + costs_.message);
  region.perfect.spend(costs_.remote_event);
  hear(region, from, stamp.promised);
  region.promised.spend(costs_.remote_event);
}

// Waits for an event of `from` that left it then, unless an earlier message brought it.
void RegionClocks::hear(Region& to, std::uint32_t from, double left) {
  // Fibonacci hashing: numbers of neighbouring regions often differ by powers of two.
  Heard& heard = to.heard[(from * 0x9E3779B9U) >> 28];
  static_assert(remembered == 16);
  if (heard.sender == from && left <= heard.until) {
    return;
  }
  Clock& clock = to.promised;
  const double unasked = left + costs_.exchange_every;
  const double answered = std::max(left, clock.start + (costs_.wait_messages - 1) * costs_.message);
  // What was sent unasked long ago is there; else the question or the sender's habit is faster.
  heard = {from, unasked + costs_.message <= clock.start ? unasked : std::min(unasked, answered)};
  clock.wait_until(heard.until + costs_.message);
  clock.spend(costs_.exchange);
  regions_[from].promised.spend(costs_.exchange);
  ++to.exchanges;
}

RegionClocks::Stamp RegionClocks::now(std::uint32_t number, std::uint64_t done) const {
  const Region& region = regions_[number];
  const auto work = static_cast<double>(done);
  return {work + region.perfect.ahead, work + region.promised.ahead};
}

trace::ScalingClock RegionClocks::perfect(std::span<const std::uint64_t> done) const {
  return collect(done, &Region::perfect);
}

trace::ScalingClock RegionClocks::promised(std::span<const std::uint64_t> done) const {
  trace::ScalingClock clock = collect(done, &Region::promised);
  for (const Region& region : regions_) {
    clock.exchanges = std::max(clock.exchanges, region.exchanges);
  }
  return clock;
}

trace::ScalingClock RegionClocks::collect(std::span<const std::uint64_t> done,
                                          Clock Region::*member) const {
  trace::ScalingClock all;
  for (std::size_t number = 0; number < regions_.size(); ++number) {
    const Clock& clock = regions_[number].*member;
    const double end = static_cast<double>(done[number]) + clock.ahead;
    if (end > all.path) {
      all.path = end;
      all.path_messages = clock.messages;
    }
    all.waits = std::max(all.waits, clock.waits);
    all.all_waits += clock.waits;
  }
  return all;
}

void RegionClocks::Clock::come_to(std::uint64_t done) {
  start = static_cast<double>(done) + ahead;
  waited = 0;
}

void RegionClocks::Clock::wait_until(double time) {
  const double wait = time - start;
  if (wait > waited) {
    waits += waited == 0 ? 1 : 0;
    ahead += wait - waited;
    waited = wait;
  }
}

void RegionClocks::Clock::spend(double time) {
  ahead += time;
  messages += time;
}

}  // namespace tessera::sim
