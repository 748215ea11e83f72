#include "process/signals.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <initializer_list>

namespace tessera::cli {
namespace {

// A handler can reach nothing but globals; these are touched here only.
volatile std::sig_atomic_t stop_flag = 0;
volatile std::sig_atomic_t status_flag = 0;
std::atomic<std::int64_t> stopped_at_ms = 0;  // of the first SIGINT or SIGTERM
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Two of them within it are one request: timeout(1) sends one to the program and one to its group.
constexpr std::int64_t same_request_ms = 500;

std::int64_t now_ms() {
  const int error = errno;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  errno = error;
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// A second SIGINT or SIGTERM ends the program at once.
void on_stop(int signal) {
  stop_flag = 1;
  if (signal == SIGUSR1) {
    return;
  }
  const std::int64_t now = now_ms();
  std::int64_t first = 0;
  if (!stopped_at_ms.compare_exchange_strong(first, now) && now - first > same_request_ms) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

void on_status(int) {
  status_flag = 1;
}

}  // namespace

void keep_requests() {
  std::signal(SIGUSR1, on_stop);
  std::signal(SIGUSR2, on_status);
}

SignalWatch::SignalWatch() {
  std::signal(SIGINT, on_stop);
  std::signal(SIGTERM, on_stop);
  keep_requests();
}

SignalWatch::~SignalWatch() {
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, SIG_DFL);
  }
  stop_flag = 0;
  status_flag = 0;
  stopped_at_ms = 0;
}

bool SignalWatch::stop_requested() const {
  return stop_flag != 0;
}

bool SignalWatch::take_status_request() {
  const bool asked = status_flag != 0;
  status_flag = 0;
  return asked;
}

}  // namespace tessera::cli
