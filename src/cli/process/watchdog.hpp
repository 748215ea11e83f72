// Notices that a rank makes no progress.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "tessera/core/time.hpp"

namespace tessera::cli {

// Calls `bark` (from its own thread, once) when `feed` was not called for `patience`, not counting
// time in which this process was stopped. A patience of zero watches nothing.
class Watchdog {
 public:
  struct Sign {
    SimTime simulated;
    std::uint64_t events = 0;
  };
  Watchdog(std::chrono::seconds patience, std::function<void(const Sign& last)> bark);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  void feed(const Sign& sign);
  // From pause(true) to pause(false) it is patient without end.
  void pause(bool paused);

 private:
  void watch();

  std::chrono::seconds patience_;
  std::function<void(const Sign&)> bark_;
  std::atomic<bool> paused_{false};
  std::atomic<std::uint64_t> fed_{0};
  std::atomic<std::int64_t> simulated_ps_{0};
  std::atomic<std::uint64_t> events_{0};
  std::mutex mutex_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace tessera::cli
