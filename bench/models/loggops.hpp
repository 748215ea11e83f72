// Message passing among N processes in the LogGOPS model of Hoefler, Schneider, Lumsdaine:
// "LogGOPSim - simulating large-scale applications in the LogGOPS model", HPDC 2010,
// doi:10.1145/1851476.1851564.
//
// Each process has one processor and one network interface for each direction, each free from some
// time on, and goes through its schedule in order. In a step it sends at most one message and waits
// for at most one; the step ends when the message is sent and the other has come. A message of k
// bytes at time t:
//   send     begins at b = max(t, processor, interface out); the processor is busy until
//            b + o + (k - 1) O, the interface until b + g + (k - 1) G; the head of the message is
//            at the other process at b + o + L.
//   receive  when the head is there, at b = max(t, processor, interface in); the processor is busy
//            until b + o + (k - 1) max(O, G), the interface until b + g + (k - 1) G. This is paid
//            at once, whether the process waits for the message yet or not.
//   above S  rendezvous: a request of one byte goes first, is answered with one byte when the
//            receiver has come to that step, and then the message goes. Requests and answers cost
//            what messages cost.
// Deviations: no computation between messages, one processor a process, schedules are generated.
// An event is the arrival of the head of a message, a request or an answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/draw.hpp"
#include "models/loggops_schedule.hpp"
#include "regions.hpp"
#include "tessera/core/error.hpp"
#include "tessera/pdes/event.hpp"

namespace tessera::bench {

struct LogGopsParameters {
  std::uint32_t lps = 0;  // >= 2
  MessageSchedule schedule;
  std::uint64_t iterations = 0;
  std::uint64_t bytes = 1;  // of a message
  SimTime L, o, g;
  SimTime G, O;         // a byte
  std::uint64_t S = 0;  // largest message sent without rendezvous
  SimTime lookahead;    // L + o

  pdes::Regions cut(const comm::Communicator& communicator) const {
    return complete_cut(communicator, lps, lookahead);
  }
};

class LogGops {
 public:
  using Parameters = LogGopsParameters;
  static constexpr bool counts_hops = false;

  LogGops(const Parameters& parameters, std::uint32_t local)
      : parameters_(parameters),
        rounds_(parameters.schedule.rounds()),
        steps_(rounds_ * parameters.iterations),
        rendezvous_(parameters.bytes > parameters.S),
        states_(local) {}

  template <class Context>
  void start(Context& context) {
    go_on(context, states_[context.index()]);
  }

  template <class Context>
  void handle(Context& context, const pdes::Event& event) {
    Process& process = states_[context.index()];
    const auto step = event.as<std::uint64_t>();
    process.hash = noted(process.hash, static_cast<std::uint64_t>(context.now().ps()) + step);
    const auto kind = static_cast<Kind>(event.port.kind());
    receive(context.now(), process, kind == Kind::data ? parameters_.bytes : 1);
    if (kind == Kind::answer) {
      send(context, process, event.source, Kind::data, parameters_.bytes);
      process.sent = true;
    } else if (kind == Kind::data && rendezvous_) {
      process.received = true;
    } else {
      note_arrival(process, step, context.now(), context.self());
    }
    go_on(context, process);
  }

  void add_to(Digest& digest, std::uint32_t index, EntityId entity) const {
    const Process& process = states_[index];
    const auto ps = [](SimTime time) { return static_cast<std::uint64_t>(time.ps()); };
    digest.add({entity.value(), ps(process.processor), ps(process.out), ps(process.in),
                process.step, process.hash});
  }
  std::size_t state_bytes() const { return states_.capacity() * sizeof(Process); }

 private:
  enum class Kind : unsigned { data, request, answer };
  struct Process {
    SimTime processor, out, in;  // free from
    std::uint64_t step = 0;
    std::uint64_t arrived = 0;  // bit i: the message, or the request, of step + i is here
    std::uint64_t hash = 0;
    unsigned round = 0;     // step, modulo those of an iteration
    bool started = false;   // the send of this step
    bool sent = false;      // the message of this step
    bool received = false;  // the message of this step
  };

  static SimTime per_byte(SimTime each, std::uint64_t bytes) {
    return each * static_cast<std::int64_t>(bytes - 1);
  }

  template <class Context>
  void send(Context& context, Process& process, EntityId target, Kind kind, std::uint64_t bytes) {
    const SimTime begins = std::max({context.now(), process.processor, process.out});
    process.processor = begins + parameters_.o + per_byte(parameters_.O, bytes);
    process.out = begins + parameters_.g + per_byte(parameters_.G, bytes);
    context.send(target, begins - context.now() + parameters_.lookahead,
                 pdes::Port(0, static_cast<unsigned>(kind)), process.step);
  }

  void receive(SimTime now, Process& process, std::uint64_t bytes) const {
    const SimTime begins = std::max({now, process.processor, process.in});
    process.processor =
        begins + parameters_.o + per_byte(std::max(parameters_.O, parameters_.G), bytes);
    process.in = begins + parameters_.g + per_byte(parameters_.G, bytes);
  }

  // All schedules keep the processes within a few iterations of each other, far below 64 steps.
  static void note_arrival(Process& process, std::uint64_t step, SimTime now, EntityId self) {
    const std::uint64_t ahead = step - process.step;
    if (ahead >= 64) {
      throw ModelError("a message came more than 63 steps early", now, self);
    }
    process.arrived |= std::uint64_t{1} << ahead;
  }

  template <class Context>
  void go_on(Context& context, Process& process) {
    while (process.step < steps_) {
      const Exchange exchange =
          parameters_.schedule.at(context.self().value(), process.step, process.round);
      if (!process.started) {
        process.started = true;
        process.sent = !exchange.to || !rendezvous_;
        process.received = !exchange.from;
        if (exchange.to) {
          send(context, process, EntityId(*exchange.to), rendezvous_ ? Kind::request : Kind::data,
               rendezvous_ ? 1 : parameters_.bytes);
        }
      }
      if ((process.arrived & 1) != 0) {
        process.arrived &= ~std::uint64_t{1};
        if (rendezvous_) {
          send(context, process, EntityId(*exchange.from), Kind::answer, 1);
        } else {
          process.received = true;
        }
      }
      if (!process.sent || !process.received) {
        return;
      }
      ++process.step;
      process.round = process.round + 1 < rounds_ ? process.round + 1 : 0;
      process.arrived >>= 1;
      process.started = false;
    }
  }

  Parameters parameters_;
  unsigned rounds_;
  std::uint64_t steps_;
  bool rendezvous_;
  std::vector<Process> states_;
};

}  // namespace tessera::bench
