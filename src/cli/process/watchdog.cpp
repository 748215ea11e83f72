#include "process/watchdog.hpp"

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
  // By one thread, so that a load and a store will do.
  fed_.store(fed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

void Watchdog::pause(bool paused) {
  paused_.store(paused, std::memory_order_relaxed);
  fed_.fetch_add(1, std::memory_order_relaxed);
}

// Time passes in slices. One that took much longer than it should was no time of this process,
// which was stopped: it then has all the patience again.
void Watchdog::watch() {
  using Clock = std::chrono::steady_clock;
  constexpr int slices = 20;
  const std::chrono::nanoseconds slice = std::chrono::nanoseconds(patience_) / slices;
  std::unique_lock lock(mutex_);
  std::uint64_t seen = fed_.load(std::memory_order_relaxed);
  int hungry = 0;
  for (auto began = Clock::now(); !ended_.wait_for(lock, slice, [this] { return over_; });
       began = Clock::now()) {
    const std::uint64_t now = fed_.load(std::memory_order_relaxed);
    const bool was_stopped = Clock::now() - began > 3 * slice;
    const bool is_hungry = now == seen && !was_stopped && !paused_.load(std::memory_order_relaxed);
    hungry = is_hungry ? hungry + 1 : 0;
    seen = now;
    if (hungry == slices) {
      bark_({SimTime::from_ps(simulated_ps_.load(std::memory_order_relaxed)),
             events_.load(std::memory_order_relaxed)});
      return;
    }
  }
}

}  // namespace tessera::cli
