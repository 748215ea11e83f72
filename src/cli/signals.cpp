#include "signals.hpp"

#include <csignal>
#include <initializer_list>

namespace tessera::cli {
namespace {

// A handler can reach nothing but globals; these two are touched here only.
volatile std::sig_atomic_t stop_flag = 0;
volatile std::sig_atomic_t status_flag = 0;

void on_stop(int signal) {
  stop_flag = 1;
  if (signal != SIGUSR1) {
    std::signal(signal, SIG_DFL);
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
