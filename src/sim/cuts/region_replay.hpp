// How long regions take for work and messages of which it is known about when they are.
//
// Method: every region goes through simulated time in order. Work is spread evenly over its span; a
// message from another region is waited for until it has been sent there, in the wall time of that
// region, and has come. So promises are taken to be as good as can be: a region never waits for
// what does not come.
//
// Assumed: an event takes 70 ns (measured on runs of plans: 53 to 80 ns); a message comes after
// 1.3 µs (measured, two ranks of one machine) and half of the 256 events from one statement of a
// rank to the next (promise_policy.cpp), and takes each side the time of 20: a statement, a batch,
// and what a model keeps of a packet that crosses. Work is not as even as that: what goes in its
// midst comes later by `burst` of the work between two such messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tessera::sim {

struct ReplayCosts {
  double event_s = 70e-9;
  double message_s = 1.3e-6 + 128 * 70e-9;  // until it is there
  double side_s = 20 * 70e-9;               // of processor time at either end
  // Fitted to replays of measured events with cuts that know the machine alone: see
  // docs/design/0021-cuts.md.
  double burst = 0.25;
};

// Of one iteration.
struct Replay {
  double one_rank_s = 0;
  double wall_s = 0;
  std::uint64_t messages = 0;  // events that cross
  std::uint64_t waits = 0;     // of the region that waits most often
  double imbalance = 1;        // most events of a region over the mean
  double speed_up() const { return wall_s > 0 ? one_rank_s / wall_s : 1; }
};

// Which to take: of those that are as fast as the fastest but for 2 %, less than predictions are
// good for, the one that waits least often, as a run waits up to twice as often as predicted. And
// of those within 5 % one with less than two thirds of its events that cross, if there is any: each
// holds up real ranks for longer than perfect promises do. Requires one at least.
std::size_t best_of(std::span<const Replay> replays);

// So few messages are followed that a prediction takes a small part of the run's time: of several
// alike, one of so many is given for all.
std::uint32_t replay_thinning(double messages, double events);

class RegionReplay {
 public:
  RegionReplay(int ranks, const ReplayCosts& costs)
      : costs_(costs), regions_(static_cast<std::size_t>(ranks)), events_(regions_.size()) {}

  // Times in picoseconds.
  void add_work(std::uint32_t rank, std::int64_t begin, std::int64_t end, double events);
  // It stands for `times`, each `apart` from the next one (0: it is the only one), and for so many
  // `events`, each of which takes either side its time.
  void add_message(std::uint32_t from, std::uint32_t to, std::int64_t sent, std::int64_t arrives,
                   std::uint32_t times, std::int64_t apart, double events);
  // O(n log n), n: what was added.
  Replay run();

 private:
  // Something at a time that concerns a region.
  struct Point {
    std::int64_t at = 0;
    std::uint32_t kind = 0;  // PointKind; of one time in this order
    std::uint32_t rank = 0;
    std::uint32_t message = 0;
    float events = 0;  // of begins and ends: events a picosecond more or less
  };
  struct Message {
    std::uint32_t times = 1;
    std::int64_t apart = 0;
    double events = 1;
    double sent_s = 0;  // at the end of the burst it is in
    double burst_s = 0;
  };
  struct Region {
    std::int64_t at = 0;
    double rate = 0;  // events a picosecond
    double wall_s = 0;
    double unsent_s = 0;  // of work since the last message that it sent
    std::uint64_t waits = 0;
  };

  void pass(const Point& point);

  ReplayCosts costs_;
  std::vector<Region> regions_;
  std::vector<double> events_;  // [ranks]
  std::vector<Point> points_;
  std::vector<Message> messages_;
  double crossing_ = 0;  // events
};

}  // namespace tessera::sim
