#include "tessera/executor/service_windows.hpp"

#include <algorithm>
#include <utility>

#include "tessera/core/quotient.hpp"

namespace tessera::executor {

void ServiceWindow::add(const ServiceWindow& other) {
  arrived += other.arrived;
  served += other.served;
  met += other.met;
  tokens += other.tokens;
  first_token.add_all(other.first_token);
  a_token.add_all(other.a_token);
  latency.add_all(other.latency);
  running += other.running;
  waiting += other.waiting;
  cache_blocks += other.cache_blocks;
  replicas += other.replicas;
}

ServiceWindow& ServiceWindows::at(SimTime now) {
  while (static_cast<std::size_t>(now.ps() / width_.ps()) >= most) {
    for (std::size_t i = 0; 2 * i < windows_.size(); ++i) {
      if (i > 0) {
        windows_[i] = std::move(windows_[2 * i]);
      }
      if (2 * i + 1 < windows_.size()) {
        windows_[i].add(windows_[2 * i + 1]);
      }
    }
    windows_.resize((windows_.size() + 1) / 2);
    width_ = width_ * 2;
  }
  const auto place = static_cast<std::size_t>(now.ps() / width_.ps());
  if (place >= windows_.size()) {
    windows_.resize(place + 1);
  }
  return windows_[place];
}

SimTime ServiceWindows::last_width() const {
  if (windows_.empty()) {
    return SimTime::zero();
  }
  const SimTime begin = width_ * static_cast<std::int64_t>(windows_.size() - 1);
  return std::max(since_ - begin, SimTime::zero());
}

void ServiceWindows::serve(SimTime now, SimTime first_token, std::optional<SimTime> a_token,
                           SimTime latency, bool met) {
  ServiceWindow& window = at(now);
  ++window.served;
  window.met += met ? 1 : 0;
  window.first_token.add(static_cast<std::uint64_t>(first_token.ps()));
  window.latency.add(static_cast<std::uint64_t>(latency.ps()));
  if (a_token) {
    window.a_token.add(static_cast<std::uint64_t>(a_token->ps()));
  }
}

void ServiceWindows::hold(SimTime now, const ServiceLoad& load) {
  at(now);
  while (since_ < now) {
    const std::int64_t place = since_.ps() / width_.ps();
    const SimTime end = std::min(now, width_ * (place + 1));
    ServiceWindow& window = windows_[static_cast<std::size_t>(place)];
    const auto time = static_cast<std::uint64_t>((end - since_).ps());
    window.running += Wide{load_.running} * time;
    window.waiting += Wide{load_.waiting} * time;
    window.cache_blocks += Wide{load_.cache_blocks} * time;
    window.replicas += Wide{load_.replicas} * time;
    since_ = end;
  }
  load_ = load;
}

void ServiceWindows::hold_replicas(SimTime now, std::uint64_t replicas) {
  ServiceLoad load = load_;
  load.replicas = replicas;
  hold(now, load);
}

void ServiceWindows::save(pdes::StateWriter& writer) const {
  writer.put(width_);
  writer.put(since_);
  writer.put(load_);
  writer.put(static_cast<std::uint64_t>(windows_.size()));
  for (const ServiceWindow& window : windows_) {
    for (const std::uint64_t count : {window.arrived, window.served, window.met, window.tokens}) {
      writer.put(count);
    }
    window.first_token.save(writer);
    window.a_token.save(writer);
    window.latency.save(writer);
    writer.put(window.running);
    writer.put(window.waiting);
    writer.put(window.cache_blocks);
    writer.put(window.replicas);
  }
}

void ServiceWindows::restore(pdes::StateReader& reader) {
  width_ = reader.get<SimTime>();
  since_ = reader.get<SimTime>();
  load_ = reader.get<ServiceLoad>();
  windows_.assign(reader.get<std::uint64_t>(), {});
  for (ServiceWindow& window : windows_) {
    for (std::uint64_t* const count :
         {&window.arrived, &window.served, &window.met, &window.tokens}) {
      *count = reader.get<std::uint64_t>();
    }
    window.first_token.restore(reader);
    window.a_token.restore(reader);
    window.latency.restore(reader);
    window.running = reader.get<Wide>();
    window.waiting = reader.get<Wide>();
    window.cache_blocks = reader.get<Wide>();
    window.replicas = reader.get<Wide>();
  }
}

std::size_t ServiceWindows::resident_bytes() const {
  std::size_t bytes = windows_.capacity() * sizeof(ServiceWindow);
  for (const ServiceWindow& window : windows_) {
    bytes += window.first_token.resident_bytes() + window.a_token.resident_bytes() +
             window.latency.resident_bytes();
  }
  return bytes;
}

std::size_t ServiceWindows::predicted_bytes(std::uint64_t requests) {
  constexpr std::size_t distributions = 3;
  const std::uint64_t of_window = quotient_up(requests, most);
  return most * (sizeof(ServiceWindow) + distributions * TimeDistribution::predicted_bytes(
                                                             of_window, ServiceWindow::most_exact));
}

}  // namespace tessera::executor
