// What a run would cost on many ranks, from one run on one rank that does not need them.
//
// Method: the experiment runs once while an observer hears of every event. For each cut (a
// partition on a number of ranks) it keeps the machine's regions, and adds up what each region does
// between two reductions. Events and messages do not depend on the partition, so a run on those
// ranks would handle the same ones: events of a region, its windows that hold an event, and
// messages between regions are exact. Beside them virtual wall clocks of the regions tell the bound
// of perfect lookahead and what a protocol of promises would reach: see sim/scaling/clocks.hpp.
//
// Assumed for the policies that go by rounds:
//   - the window policy, and a round of it ends for all regions alike at (start of the earliest
//     window not yet run) + D, the smallest latency of a link between two regions; for a region
//     that is alone in it after 2 D, or with the first event of another region. The real policy
//     lets a region go on longer where others are idle or far; so real runs have as many rounds
//     where all regions are busy, else rather fewer. A window without an event anywhere costs
//     nothing.
//   - a message is sent in the round in which it is handled. Real ones are sent earlier and sit in
//     the calendar of the receiver; what a round sends in one batch is then not quite the same.
//   - in a round, all wait for the region with most events, then for the one with most batches and
//     messages, then for the reduction; nothing overlaps.
// Assumed for all: an event costs the same on any number of ranks, in any region. Smaller regions
// fit caches better (a gain that is left out); trace files are not counted.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/pdes/engine.hpp"
#include "tessera/sim/experiment.hpp"
#include "tessera/sim/scaling/clocks.hpp"
#include "tessera/sim/scaling/sends_under_way.hpp"
#include "tessera/trace/scaling_report.hpp"

namespace tessera::sim {

// One way to cut the machine.
struct WatchedCut {
  int ranks = 1;
  std::vector<std::uint32_t> owner;    // [entities] region
  pdes::WindowNumber round_width = 1;  // windows of a round
};

// Adds up what a run on one rank would do under each of several cuts. O(cuts) for all events of an
// entity in one window together, and O(cuts that it crosses) for each event between entities.
class ScalingObserver final : public pdes::EventObserver {
 public:
  static constexpr int most_ranks = 65536;
  // `members`: entity of each index of the engine.
  ScalingObserver(std::span<const EntityId> members, std::span<const WatchedCut> cuts,
                  const ClockCosts& costs = {});

  void on_event(pdes::WindowNumber window, const pdes::Event& event) override;
  void on_send(EntityId source, std::uint32_t sequence, EntityId target) override;
  // After the run; once.
  std::vector<trace::ScalingCounts> finish();

 private:
  // What a region has done, in all and in this round.
  struct Region {
    pdes::WindowNumber window = -1;  // the last one that held an event of it
    std::uint64_t windows = 0;
    std::uint64_t events = 0;
    std::uint64_t events_before = 0;        // that window
    std::uint64_t events_before_round = 0;  // when it was last in one
    std::uint32_t sent = 0;
    std::uint32_t received = 0;
    std::uint32_t batches_sent = 0;
    std::uint32_t batches_received = 0;
    bool in_round = false;  // with events or messages
    bool active = false;    // with events
  };
  // Pairs of regions that exchange a batch in this round: a hash table that is emptied by counting
  // rounds.
  class Pairs {
   public:
    // Whether the pair is new in this round.
    bool add(std::uint32_t pair);
    void next_round();

   private:
    struct Slot {
      std::uint32_t pair = 0;
      std::uint32_t round = 0;
    };
    void grow();
    std::vector<Slot> slots_ = std::vector<Slot>(64);
    std::uint32_t round_ = 1;
    std::size_t used_ = 0;
  };
  struct Cut {
    pdes::WindowNumber round_width = 1;
    pdes::WindowNumber round_end = -1;
    std::vector<Region> regions;
    std::vector<std::uint16_t> touched;  // regions of this round, also those that only sent
    std::uint32_t active = 0;            // of them with events
    Pairs pairs;
    RegionClocks clocks;
    trace::ScalingCounts counts;

    Cut(const WatchedCut& watched, const ClockCosts& costs);
    Region& touch(std::uint16_t number);
    void message(std::uint16_t from, std::uint16_t to);
    void come_to(pdes::WindowNumber window, std::uint16_t number);
    RegionClocks::Stamp now(std::uint16_t number) const;
    void begin_round(pdes::WindowNumber window);
    void end_round();
    trace::ScalingCounts finish();
  };
  // An event that was sent in this window and crosses some cut.
  struct Sent {
    std::uint32_t slot;
    std::uint32_t source;
    std::uint32_t target;
  };

  void enter(pdes::WindowNumber window);
  void settle();
  void stamp_sent();
  const std::uint16_t* row(std::uint32_t entity) const { return owners_.data() + entity * stride_; }
  template <class Visit>
  void visit_crossed(const std::uint16_t* from, const std::uint16_t* to, const Visit& visit) const;

  std::vector<std::uint32_t> entity_of_;  // [index]
  std::size_t stride_;                    // cuts, rounded up to whole words of 8 bytes
  std::vector<std::uint16_t> owners_;     // [entities][stride] region in each cut
  std::vector<Cut> cuts_;
  SendsUnderWay under_way_;
  std::vector<RegionClocks::Stamp> stamps_;  // [slots][cuts] when they left
  std::vector<Sent> sent_;
  pdes::WindowNumber window_ = -1;
  // The entity whose events come now, and how many came in this window.
  const std::uint16_t* current_ = nullptr;
  std::uint32_t current_index_ = 0;
  std::uint32_t current_events_ = 0;
};

struct ScalingRequest {
  std::vector<int> ranks;  // 1 is added
  // To be compared; none: that of the experiment. Of several, one that cannot cut the machine over
  // some number of ranks is left out there.
  std::vector<std::string> partitions;
  // A cost of zero in `event_s` is measured: in a part of the run, before it, that nobody watches.
  trace::ScalingCosts costs;
  double calibration_s = 10;  // processor time of that part at most
  std::function<bool()> stop_requested;
  std::function<void(const std::string&)> on_note;
  // Of the run that is watched: share done.
  std::function<void(double)> on_progress;
};

// Runs the experiment on this process alone and predicts; its partition is as before afterwards.
// Throws ConfigError when there is no such partition or the machine cannot be cut over as many
// ranks, StopRequested when asked to stop before the end of the run, and ModelError when that is a
// deadlock.
trace::ScalingReport predict_scaling(Experiment& experiment, const ScalingRequest& request);

// Mean wall time of one reduction of the window policy over these ranks [s]. Collective.
double measure_reduction(comm::Communicator& communicator);

}  // namespace tessera::sim
