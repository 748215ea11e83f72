// The runner of collectives: takes one member through the steps of one lane of an algorithm.
//
// Programs of tiles, graphs and served models all run algorithms by it, and nothing else decides
// which step begins when, which message it waits for and what follows once that is here
// (docs/design/0025-collectives.md). It has no clock and no messages, which are the affair of its
// host, and of a lane that goes in step it needs one number, the steps that are over: 400 000 tiles
// keep no more. It is a template because programs ask it at every message.
//
// A host has
//   std::uint32_t steps()                  of the lane
//   Step step(number)                      or a reference to one, until the next call
//   void send(const Step&)                 of a step that begins, if it sends
//   bool take_early(number)                whether the message of a step that has begun is here; it
//                                          is taken then
//   bool received(number, const Step&)     that message is taken; whether this ends the step at
//                                          once, else `end` follows
//   bool passes_on()                       steps are as Algorithm::is_passed_on says, and end at
//                                          once
//   void passed_on(number, Bytes)          in place of `received` then
//   std::vector<bool>* ended()             [steps], of a lane out of step (Algorithm::in_step),
//   else
//                                          null; a host without it has none out of step
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tessera/collective/algorithm.hpp"

namespace tessera::collective {

struct Lane {
  std::uint32_t begun = 0;  // steps
  std::uint32_t over = 0;   // all below are

  // In step, once the first step has begun: each begins when the one before is over.
  static Lane in_step(std::uint32_t over, std::uint32_t steps) {
    return {std::min(over + 1, steps), over};
  }

  // Begins the next step if it may begin now, and sends what it sends. Whether its message is here
  // is for `go_on` to ask.
  template <class Host>
  bool begin_next(Host& host) {
    if (begun == host.steps() || (is_in_step(host) && begun > over)) {
      return false;
    }
    const Step& step = host.step(begun);
    if (!is_in_step(host) && step.after > over) {
      return false;
    }
    ++begun;
    if (step.send_to != nobody) {
      host.send(step);
    }
    return true;
  }

  // Takes the message of the step begun last if it is here, and begins those that may begin then,
  // until all wait.
  template <class Host>
  void go_on(Host& host) {
    bool more = true;
    while (more) {
      const std::uint32_t before = over;
      if (begun > 0 && !is_over(begun - 1, host)) {
        look_for_message(begun - 1, host);
      }
      // What passes on has begun the next step already, whose message may be here as well.
      more = begin_next(host) || (over > before && begun > over);
    }
  }

  // The message of a step that has begun is here; `go_on` is to follow.
  template <class Host>
  void arrived(std::uint32_t number, Host& host) {
    if (host.passes_on()) {
      pass_on(number, host);
    } else if (host.received(number, host.step(number))) {
      end(number, host);
    }
  }

  // A step is over; `go_on` is to follow.
  template <class Host>
  void end(std::uint32_t number, Host& host) {
    if (is_in_step(host)) {
      ensure(number == over, "steps that end in order");
      ++over;
    } else if constexpr (requires { host.ended(); }) {
      std::vector<bool>& ended = *host.ended();
      ended[number] = true;
      while (over < host.steps() && ended[over]) {
        ++over;
      }
    }
  }

 private:
  template <class Host>
  static bool is_in_step(Host& host) {
    if constexpr (requires { host.ended(); }) {
      return host.ended() == nullptr;
    }
    return true;
  }

  template <class Host>
  bool is_over(std::uint32_t number, Host& host) const {
    if constexpr (requires { host.ended(); }) {
      return number < over || (!is_in_step(host) && (*host.ended())[number]);
    }
    return number < over;
  }

  template <class Host>
  void look_for_message(std::uint32_t number, Host& host) {
    if (!host.passes_on() && host.step(number).receive_from == nobody) {
      end(number, host);
    } else if (host.take_early(number)) {
      arrived(number, host);
    }
  }

  // What has come in is what the next step sends, so that the present one need not be asked for.
  template <class Host>
  void pass_on(std::uint32_t number, Host& host) {
    ensure(number == over, "steps that end in order");
    ++over;
    if (begun == host.steps()) {
      host.passed_on(number, host.step(number).receive_bytes);
      return;
    }
    const Step& next = host.step(begun++);
    host.passed_on(number, next.send_bytes);
    host.send(next);
  }
};

}  // namespace tessera::collective
