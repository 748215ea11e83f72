// Replicas of a model that come and go with the requests there are.
//
// As Knative's autoscaler for concurrency and the horizontal pod autoscaler of Kubernetes do:
// wanted are as many replicas as have `requests` unfinished ones each, rounded up, from `least` to
// all. More are started at once, and take requests after `start_up`. Fewer stay when fewer have
// been wanted for `idle` without a break: the most that was wanted in that time. Who is to stop
// takes no more requests and is off when it has served those it has.
//
// Nothing happens between two changes of requests that does not follow from the first: no events
// are needed, and the run does not last longer for them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/executor/serving/serving.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

class ReplicaScaling {
 public:
  ReplicaScaling(const Scaling& scaling, std::uint32_t replicas);

  // A replica has come (it is on from then on, and costs) or gone.
  struct Change {
    SimTime at;
    std::uint32_t replica = 0;
    bool on = false;
  };

  // What has happened until now, while requests stayed as they were. Times must not go back.
  void advance(SimTime now);
  // Requests have come or ended; `unfinished` [replicas].
  void change(SimTime now, std::span<const std::uint64_t> unfinished);
  // Whether it takes requests; the first one always does.
  bool takes(std::uint32_t replica) const { return replicas_[replica].state == State::on; }
  bool is_on(std::uint32_t replica) const { return replicas_[replica].state != State::off; }
  // Time that it was off until now.
  SimTime off_time(std::uint32_t replica, SimTime now) const;
  // Those since it was asked last, in order of time.
  std::vector<Change> take_changes();

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);

 private:
  enum class State : std::uint8_t { off, starting, on, stopping };
  struct Replica {
    State state = State::off;
    bool busy = false;  // has requests
    SimTime since;      // of the last change between off and on, or of a start
    SimTime off;        // in all, before
  };

  void switch_on(std::uint32_t replica, SimTime now);
  void switch_off(std::uint32_t replica, SimTime now);
  std::uint32_t active() const;
  void finish_starts(SimTime now);
  void want(SimTime now, std::uint32_t wanted);
  void shrink(SimTime at);

  Scaling scaling_;
  std::vector<Replica> replicas_;
  std::uint32_t wanted_ = 0;
  std::uint32_t most_wanted_ = 0;           // since `fewer_since_`
  SimTime fewer_since_ = SimTime::never();  // fewer are wanted than are active
  std::vector<Change> changes_;
};

}  // namespace tessera::executor
