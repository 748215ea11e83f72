// What the operating system asks of a run.
#pragma once

namespace tessera::cli {

// While it lives: the first SIGINT, SIGTERM or SIGUSR1 asks for a stop (a second SIGINT or SIGTERM
// ends the process), SIGUSR2 asks for a status line. One at a time.
class SignalWatch {
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  bool stop_requested() const;
  // True once after each SIGUSR2.
  bool take_status_request();
};

}  // namespace tessera::cli
