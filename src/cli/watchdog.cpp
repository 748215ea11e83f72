#include "watchdog.hpp"

#include <utility>

namespace tessera::cli {

Watchdog::Watchdog(std::chrono::seconds patience, std::function<void(const Sign&)> bark)
    : patience_(patience), bark_(std::move(bark)) {
  if (patience_.count() > 0) {
    thread_ = std::thread([this] { watch(); });
  }
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_all();
  if (thread_.joinable()) {
    thread_.join();
  }
}

void Watchdog::feed(const Sign& sign) {
  simulated_ps_.store(sign.simulated.ps(), std::memory_order_relaxed);
  events_.store(sign.events, std::memory_order_relaxed);
  fed_.fetch_add(1, std::memory_order_relaxed);
}

void Watchdog::pause(bool paused) {
  paused_.store(paused, std::memory_order_relaxed);
  fed_.fetch_add(1, std::memory_order_relaxed);
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  std::uint64_t seen = fed_.load(std::memory_order_relaxed);
  while (!ended_.wait_for(lock, patience_, [this] { return over_; })) {
    const std::uint64_t now = fed_.load(std::memory_order_relaxed);
    if (now == seen && !paused_.load(std::memory_order_relaxed)) {
      bark_({SimTime::from_ps(simulated_ps_.load(std::memory_order_relaxed)),
             events_.load(std::memory_order_relaxed)});
      return;
    }
    seen = now;
  }
}

}  // namespace tessera::cli
