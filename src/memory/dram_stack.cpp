#include "dram_stack.hpp"

#include <algorithm>

#include "tessera/core/wide.hpp"

namespace tessera::memory {

DramStack::DramStack(const DramSpec& spec, Bandwidth port)
    : spec_(spec),
      map_(spec),
      waiting_(spec.organization.channels,
               DramPort(port > Bandwidth() ? serialization_time(spec.organization.burst, port)
                                           : SimTime::zero())) {
  for (std::uint32_t i = 0; i < spec.organization.channels; ++i) {
    channels_.push_back(make_dram_channel(spec));
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
  for (std::uint64_t number = first; number <= last; ++number) {
    const DramPlace at = map_.place(number);
    waiting_[at.channel].add(piece.requester, {place, at.bank, number, at.row, 0});
  }
  next_ = std::min(next_, std::max(first_cycle_from(piece.arrived), last_ + 1));
}

void DramStack::tick(std::vector<std::uint32_t>& finished) {
  const Cycle now = next_;
  for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
    submit_waiting(now, channel);
    if (channels_[channel]->next() <= now) {
      channels_[channel]->tick(now, done_);
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
  find_next();
}

void DramStack::submit_waiting(Cycle now, std::size_t channel) {
  DramPort& port = waiting_[channel];
  while (!port.empty() && port.opens() <= now) {
    const WaitingBurst& burst = port.front();
    const bool write = pieces_[burst.place].write != 0;
    if (!channels_[channel]->accepts(write)) {
      return;
    }
    channels_[channel]->submit(now, {burst.place, burst.number, burst.bank, burst.row, write},
                               done_);
    port.pop(time_of(std::max<Cycle>(now - 1, 0)),
             [this](SimTime time) { return first_cycle_from(time); });
  }
}

// Bursts that were not accepted are tried again after their channel's next command, or at once
// where that was its last; those that wait for their port when it opens.
void DramStack::find_next() {
  next_ = no_cycle;
  for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
    const Cycle next = channels_[channel]->next();
    next_ = std::min(next_, next);
    const DramPort& port = waiting_[channel];
    if (port.empty()) {
      continue;
    }
    if (port.opens() > last_) {
      next_ = std::min(next_, port.opens());
    } else if (next == no_cycle) {
      next_ = std::min(next_, last_ + 1);
    }
  }
}

DramPiece DramStack::release(std::uint32_t place) {
  free_.push_back(place);
  return pieces_[place];
}

DramCounts DramStack::counts() const {
  DramCounts sum;
  for (const auto& channel : channels_) {
    sum += channel->counts();
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
  std::size_t bytes = pieces_.capacity() * sizeof(DramPiece);
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    bytes += channels_[i]->resident_bytes() + waiting_[i].resident_bytes();
  }
  return bytes;
}

void DramStack::save(pdes::StateWriter& writer) const {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    channels_[i]->save(writer);
    waiting_[i].save(writer);
  }
  writer.put_all(pieces_);
  writer.put_all(free_);
  writer.put(next_);
  writer.put(last_);
}

void DramStack::restore(pdes::StateReader& reader) {
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    channels_[i]->restore(reader);
    waiting_[i].restore(reader);
  }
  pieces_ = reader.get_all<DramPiece>();
  free_ = reader.get_all<std::uint32_t>();
  next_ = reader.get<Cycle>();
  last_ = reader.get<Cycle>();
}

}  // namespace tessera::memory
