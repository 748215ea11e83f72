#include "flow/fluid_flows.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::network {
namespace {

constexpr double longest_ps = 4e18;  // of what need not be exact: 46 days, and far from overflow
constexpr double range_ps = 9.2e18;  // of simulated time, but for what a double rounds

}  // namespace

void FluidFlows::begin(Flow number, std::span<const Link> route, std::uint64_t bytes, Wide weight,
                       double limit) {
  shares_.add(number, route, weight, limit);
  state_of(number) = {static_cast<double>(bytes), 0, SimTime::zero()};
  ends_.set(number, SimTime::never());
}

bool FluidFlows::begin_alone(Flow number, std::span<const Link> route, std::uint64_t bytes,
                             Wide weight, double limit, SimTime now) {
  if (!shares_.add_alone(number, route, weight, limit)) {
    return false;
  }
  State& state = state_of(number);
  state = {static_cast<double>(bytes), shares_.rate(number), now};
  const SimTime end = end_from(now, state.left, state.rate);
  unseen_.push_back({number, end});
  begun_alone_at_ = now;
  first_unseen_ = std::min(first_unseen_, end);
  return true;
}

FluidFlows::State& FluidFlows::state_of(Flow number) {
  if (number >= states_.size()) {
    states_.resize(number + std::size_t{1});
  }
  return states_[number];
}

void FluidFlows::see_all() {
  for (const End& end : unseen_) {
    ends_.set(end.flow, end.time);
  }
  unseen_.clear();
  begun_alone_at_ = SimTime::never();
  first_unseen_ = SimTime::never();
}

void FluidFlows::take_ended(SimTime now, std::vector<Flow>& ended) {
  const std::size_t before = ended.size();
  ends_.collect(now, ended);
  for (std::size_t at = before; at < ended.size(); ++at) {
    ends_.set(ended[at], SimTime::never());
    shares_.remove(ended[at]);
  }
}

double FluidFlows::left(Flow number, SimTime now) const {
  const State& state = states_[number];
  return std::max(0.0, state.left - state.rate * static_cast<double>((now - state.since).ps()));
}

void FluidFlows::share(SimTime now) {
  see_all();
  for (const Flow number : shares_.solve()) {
    State& state = states_[number];
    const double rate = shares_.rate(number);
    if (rate == state.rate) {
      continue;
    }
    state.left = left(number, now);
    state.since = now;
    state.rate = rate;
    ends_.set(number, end_from(now, state.left, rate));
  }
}

SimTime FluidFlows::duration(double bytes, double rate) {
  return SimTime::from_ps(std::llround(bytes > 0 ? std::min(bytes / rate, range_ps) : 0));
}

// Never, until others have ended, where simulated time does not go so far.
SimTime FluidFlows::end_from(SimTime now, double bytes, double rate) {
  const bool is_beyond = bytes > 0 && bytes / rate >= range_ps - static_cast<double>(now.ps());
  return is_beyond ? SimTime::never() : now + duration(bytes, rate);
}

// What each change of a rate rounds is some 10^-16 of what is left, and an end half a picosecond.
SimTime FluidFlows::least_duration(double bytes, double rate) {
  constexpr double kept = 1 - 1e-9;
  const double ps = std::floor(std::min(bytes / rate * kept, longest_ps)) - 1;
  return SimTime::from_ps(static_cast<std::int64_t>(std::max(0.0, ps)));
}

void FluidFlows::save(Flow number, pdes::StateWriter& writer) const {
  const auto unseen = std::find_if(unseen_.begin(), unseen_.end(),
                                   [number](const End& end) { return end.flow == number; });
  writer.put(states_[number]);
  writer.put(unseen == unseen_.end() ? ends_.time(number) : unseen->time);
}

void FluidFlows::restore(Flow number, pdes::StateReader& reader) {
  states_[number] = reader.get<State>();
  ends_.set(number, reader.get<SimTime>());
}

}  // namespace tessera::network
