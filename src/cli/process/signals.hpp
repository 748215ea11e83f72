// What the operating system asks of a run.
#pragma once

namespace tessera::cli {

// From here on SIGUSR1 and SIGUSR2 end nothing. What is asked for before there is a SignalWatch,
// while MPI starts and input is read, the next one is told; what comes after it is too late.
void keep_requests();

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
