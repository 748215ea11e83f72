#include "dram_stack.hpp"

#include <algorithm>

#include "tessera/core/wide.hpp"

namespace tessera::memory {

DramStack::DramStack(const DramSpec& spec, Bandwidth port) : spec_(spec), map_(spec) {
  const SimTime time =
      port > Bandwidth() ? serialization_time(spec.organization.burst, port) : SimTime::zero();
  for (std::uint32_t i = 0; i < spec.organization.channels; ++i) {
    lanes_.push_back({make_dram_channel(spec), no_cycle, DramPort(spec.timing.clock, time)});
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

void DramStack::take(const DramPiece& piece) {
  std::uint32_t place = 0;
  if (free_.empty()) {
    place = static_cast<std::uint32_t>(pieces_.size());
    pieces_.push_back(piece);
  } else {
    place = free_.back();
    free_.pop_back();
    pieces_[place] = piece;
  }
  const std::uint64_t size = spec_.organization.burst.count();
  const std::uint64_t first = piece.address / size;
  const std::uint64_t last = (piece.address + std::max<std::uint64_t>(piece.bytes, 1) - 1) / size;
  pieces_[place].left = static_cast<std::uint32_t>(last - first + 1);
  const std::uint32_t requester = requester_number(piece.requester);
  map_.for_each_channel(
      first, last, [&](std::uint32_t channel, std::uint64_t index, std::uint32_t count) {
        lanes_[channel].port.add(requester, {index, count, place, piece.write, 0});
      });
  next_ = std::min(next_, std::max(first_cycle_from(piece.arrived), last_ + 1));
}

void DramStack::tick(std::vector<std::uint32_t>& finished) {
  const Cycle now = next_;
  next_ = no_cycle;
  for (Lane& lane : lanes_) {
    const bool submitted = lane.port.opens() <= now && submit_waiting(now, lane);
    if (submitted || lane.next <= now) {
      lane.next = lane.channel->tick(now, done_);
    }
    // Bursts that were not accepted are tried again after their channel's next command, or at once
    // where that was its last; those that wait for their port when it opens.
    next_ = std::min(next_, lane.next);
    if (lane.port.empty()) {
      continue;
    }
    if (lane.port.opens() > now) {
      next_ = std::min(next_, lane.port.opens());
    } else if (lane.next == no_cycle) {
      next_ = std::min(next_, now + 1);
    }
  }
  for (const DramDone& done : done_) {
    DramPiece& piece = pieces_[static_cast<std::size_t>(done.id)];
    piece.finish = std::max(piece.finish, done.finish);
    if (--piece.left == 0) {
      finished.push_back(static_cast<std::uint32_t>(done.id));
    }
  }
  done_.clear();
  last_ = now;
}

// True when any was accepted.
bool DramStack::submit_waiting(Cycle now, Lane& lane) {
  DramPort& port = lane.port;
  DramChannel& channel = *lane.channel;
  bool submitted = false;
  while (!port.empty() && port.opens() <= now) {
    const WaitingBursts& bursts = port.front();
    const bool write = bursts.write != 0;
    if (!channel.accepts(write)) {
      break;
    }
    const DramPlace at = map_.place_in_channel(bursts.index);
    channel.submit(now, {bursts.piece, bursts.index, at.bank, at.row, write}, done_);
    port.pop(now);
    submitted = true;
  }
  return submitted;
}

DramPiece DramStack::release(std::uint32_t place) {
  free_.push_back(place);
  return pieces_[place];
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
  }
  std::vector<std::uint32_t> requesters(requesters_.size());
  for (const auto& [entity, number] : requesters_) {
    requesters[number] = entity;
  }
  writer.put_all(requesters);
  writer.put_all(pieces_);
  writer.put_all(free_);
  writer.put(next_);
  writer.put(last_);
}

void DramStack::restore(pdes::StateReader& reader) {
  for (Lane& lane : lanes_) {
    lane.channel->restore(reader);
    lane.next = lane.channel->next();
    lane.port.restore(reader);
  }
  requesters_.clear();
  for (const std::uint32_t entity : reader.get_all<std::uint32_t>()) {
    requester_number(EntityId(entity));
  }
  pieces_ = reader.get_all<DramPiece>();
  free_ = reader.get_all<std::uint32_t>();
  next_ = reader.get<Cycle>();
  last_ = reader.get<Cycle>();
}

}  // namespace tessera::memory
