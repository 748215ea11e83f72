#include "dram/stack.hpp"

#include <algorithm>
#include <tuple>

#include "tessera/core/wide.hpp"

namespace tessera::memory {

namespace {

// When it was known that something is done: cycle, channel, and which one of these.
std::uint64_t order_of(Cycle cycle, std::uint32_t channel, std::uint32_t number) {
  constexpr unsigned number_bits = 12;
  constexpr unsigned channel_bits = 10;
  constexpr std::uint32_t most = (1U << number_bits) - 1;
  return (static_cast<std::uint64_t>(cycle) << channel_bits | channel) << number_bits |
         std::min(number, most);
}

constexpr auto finished_later = [](const auto& a, const auto& b) {
  return std::tie(a.finish, a.known, a.place) > std::tie(b.finish, b.known, b.place);
};

}  // namespace

DramStack::DramStack(const DramSpec& spec, Bandwidth port, SimTime latency)
    : spec_(spec), map_(spec), latency_(latency) {
  const SimTime time =
      port > Bandwidth() ? serialization_time(spec.organization.burst, port) : SimTime::zero();
  for (std::uint32_t i = 0; i < spec.organization.channels; ++i) {
    lanes_.push_back({make_dram_channel(spec), DramPort(spec.timing.clock, time)});
  }
}

SimTime DramStack::time_of(Cycle cycle) const {
  return spec_.timing.clock.time_of_cycle(static_cast<std::uint64_t>(cycle));
}

Cycle DramStack::first_cycle_from(SimTime time) const {
  constexpr Wide second_ps = 1'000'000'000'000ULL;
  const Wide cycles = static_cast<Wide>(time.ps()) * spec_.timing.clock.frequency_hz();
  return static_cast<Cycle>((cycles + second_ps - 1) / second_ps);
}

std::uint32_t DramStack::requester_number(EntityId requester) {
  const auto number = static_cast<std::uint32_t>(requesters_.size());
  return requesters_.try_emplace(requester.value(), number).first->second;
}

std::uint32_t DramStack::keep(const DramPiece& piece) {
  if (free_.empty()) {
    pieces_.push_back(piece);
    return static_cast<std::uint32_t>(pieces_.size() - 1);
  }
  const std::uint32_t place = free_.back();
  free_.pop_back();
  pieces_[place] = piece;
  return place;
}

void DramStack::take(const DramPiece& piece) {
  const std::uint32_t place = keep(piece);
  taken_.bytes[piece.write] += piece.bytes;
  const std::uint64_t size = spec_.organization.burst.count();
  const std::uint64_t first = piece.address / size;
  const std::uint64_t last = (piece.address + std::max<std::uint64_t>(piece.bytes, 1) - 1) / size;
  pieces_[place].left = static_cast<std::uint32_t>(last - first + 1);
  const std::uint32_t requester = requester_number(piece.requester);
  const Cycle now = first_cycle_from(piece.arrived);
  map_.for_each_channel(first, last,
                        [&](std::uint32_t channel, std::uint64_t index, std::uint32_t count) {
                          add(channel, requester, {index, count, place, piece.write, 0}, now);
                        });
}

void DramStack::add(std::uint32_t channel, std::uint32_t requester, const WaitingBursts& bursts,
                    Cycle now) {
  Lane& lane = lanes_[channel];
  taken_.bursts[bursts.write] += bursts.count;
  if (lane.port.waiting_since_mark(requester) > going_in_before(lane, now)) {
    lane.port.add(requester, bursts);  // behind others, which is all the same to cycles before
    return;
  }
  run(channel, now);
  lane.port.add(requester, bursts);
  lane.next = std::min(lane.next, std::max(now, lane.port.opens()));
  plan(lane);
}

// The most bursts that go in from the last plan on before cycle `now`, or before the lane is due.
// As of that plan, so that it makes no difference whether the lane was caught up with since.
std::uint64_t DramStack::going_in_before(const Lane& lane, Cycle now) const {
  const DramController& controller = spec_.controller;
  const std::uint64_t at_once =
      lane.port.one_a_cycle() ? 0 : std::uint64_t{controller.read_queue} + controller.write_queue;
  const Cycle until_due = spec_.timing.cl + spec_.timing.burst + 1;
  return at_once + static_cast<std::uint64_t>(std::max(now - lane.planned, until_due));
}

// All cycles before `until`.
void DramStack::run(std::uint32_t number, Cycle until) {
  Lane& lane = lanes_[number];
  if (lane.next >= until) {
    return;
  }
  lane.next = lane.channel->run(lane.next, until, lane.port, map_, done_);
  Cycle cycle = -1;
  std::uint32_t of_cycle = 0;
  for (const DramDone& done : done_) {
    of_cycle = done.known == cycle ? of_cycle + 1 : 0;
    cycle = done.known;
    const auto place = static_cast<std::uint32_t>(done.id);
    DramPiece& piece = pieces_[place];
    piece.finish = std::max(piece.finish, done.finish);
    piece.known = std::max(piece.known, order_of(cycle, number, of_cycle));
    if (--piece.left == 0) {
      finished_.push_back({piece.finish, piece.known, place, 0});
      std::push_heap(finished_.begin(), finished_.end(), finished_later);
    }
  }
  done_.clear();
}

void DramStack::plan(Lane& lane) {
  lane.planned = lane.next;
  lane.port.mark();
  lane.due = lane.next == no_cycle ? no_cycle : lane.channel->first_finish(lane.next, lane.port);
}

void DramStack::advance(SimTime now) {
  const Cycle until = first_cycle_from(now);
  const Cycle done = first_cycle_from(now - std::min(now, latency_));
  for (std::uint32_t number = 0; number < lanes_.size(); ++number) {
    if (lanes_[number].due < done) {
      run(number, until);
      plan(lanes_[number]);
    }
  }
}

void DramStack::catch_up(SimTime now) {
  const Cycle until = first_cycle_from(now);
  for (std::uint32_t number = 0; number < lanes_.size(); ++number) {
    run(number, until);
  }
}

SimTime DramStack::due() const {
  Cycle due = finished_.empty() ? no_cycle : finished_.front().finish;
  for (const Lane& lane : lanes_) {
    due = std::min(due, lane.due);
  }
  return due == no_cycle ? SimTime::never() : done_at(due);
}

std::uint32_t DramStack::take_finished(SimTime now) {
  if (finished_.empty() || done_at(finished_.front().finish) > now) {
    return none;
  }
  const std::uint32_t place = finished_.front().place;
  std::pop_heap(finished_.begin(), finished_.end(), finished_later);
  finished_.pop_back();
  return place;
}

DramPiece DramStack::release(std::uint32_t place) {
  free_.push_back(place);
  return pieces_[place];
}

std::vector<EntityId> DramStack::requesters() const {
  std::vector<bool> is_free(pieces_.size());
  for (const std::uint32_t place : free_) {
    is_free[place] = true;
  }
  std::vector<EntityId> requesters;
  for (std::size_t place = 0; place < pieces_.size(); ++place) {
    if (!is_free[place]) {
      requesters.push_back(pieces_[place].requester);
    }
  }
  return requesters;
}

std::array<std::uint64_t, 2> DramStack::waiting() const {
  std::array<std::uint64_t, 2> sums{};
  for (const Lane& lane : lanes_) {
    const auto in_line = lane.port.waiting();
    const auto in_channel = lane.channel->waiting();
    for (std::size_t kind = 0; kind < sums.size(); ++kind) {
      sums[kind] += in_line[kind] + in_channel[kind];
    }
  }
  return sums;
}

DramCounts DramStack::counts() const {
  DramCounts sum;
  for (const Lane& lane : lanes_) {
    sum += lane.channel->counts();
  }
  return sum;
}

SimTime DramStack::busy() const {
  const DramCounts done = counts();
  const std::uint64_t buses =
      std::uint64_t{spec_.organization.channels} * spec_.organization.pseudo_channels;
  return time_of(static_cast<Cycle>((done.reads + done.writes) *
                                    static_cast<std::uint64_t>(spec_.timing.burst) / buses));
}

std::size_t DramStack::resident_bytes() const {
  std::size_t bytes = pieces_.capacity() * sizeof(DramPiece) + lanes_.capacity() * sizeof(Lane) +
                      map_.resident_bytes();
  for (const Lane& lane : lanes_) {
    bytes += lane.channel->resident_bytes() + lane.port.resident_bytes();
  }
  return bytes;
}

void DramStack::save(pdes::StateWriter& writer) const {
  for (const Lane& lane : lanes_) {
    lane.channel->save(writer);
    lane.port.save(writer);
    writer.put(lane.next);
    writer.put(lane.due);
    writer.put(lane.planned);
  }
  std::vector<std::uint32_t> requesters(requesters_.size());
  for (const auto& [entity, number] : requesters_) {
    requesters[number] = entity;
  }
  writer.put_all(requesters);
  writer.put_all(pieces_);
  writer.put_all(free_);
  writer.put_all(finished_);
  writer.put(taken_);
}

void DramStack::restore(pdes::StateReader& reader) {
  for (Lane& lane : lanes_) {
    lane.channel->restore(reader);
    lane.port.restore(reader);
    lane.next = reader.get<Cycle>();
    lane.due = reader.get<Cycle>();
    lane.planned = reader.get<Cycle>();
  }
  requesters_.clear();
  for (const std::uint32_t entity : reader.get_all<std::uint32_t>()) {
    requester_number(EntityId(entity));
  }
  pieces_ = reader.get_all<DramPiece>();
  free_ = reader.get_all<std::uint32_t>();
  finished_ = reader.get_all<Finished>();
  taken_ = reader.get<DramTaken>();
}

}  // namespace tessera::memory
