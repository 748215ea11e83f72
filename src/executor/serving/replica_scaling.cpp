#include "serving/replica_scaling.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/core/quotient.hpp"

namespace tessera::executor {

ReplicaScaling::ReplicaScaling(const Scaling& scaling, std::uint32_t replicas)
    : scaling_(scaling), replicas_(replicas), wanted_(scaling.least) {
  for (std::uint32_t replica = 0; replica < scaling.least; ++replica) {
    replicas_[replica].state = State::on;
  }
}

std::uint32_t ReplicaScaling::active() const {
  return static_cast<std::uint32_t>(std::count_if(
      replicas_.begin(), replicas_.end(),
      [](const Replica& one) { return one.state == State::on || one.state == State::starting; }));
}

SimTime ReplicaScaling::off_time(std::uint32_t replica, SimTime now) const {
  const Replica& one = replicas_[replica];
  return one.state == State::off ? one.off + (now - one.since) : one.off;
}

std::vector<ReplicaScaling::Change> ReplicaScaling::take_changes() {
  return std::exchange(changes_, {});
}

void ReplicaScaling::switch_on(std::uint32_t replica, SimTime now) {
  Replica& one = replicas_[replica];
  one.off += now - one.since;
  one.since = now;
  one.state = scaling_.start_up > SimTime::zero() ? State::starting : State::on;
  changes_.push_back({now, replica, true});
}

void ReplicaScaling::switch_off(std::uint32_t replica, SimTime now) {
  Replica& one = replicas_[replica];
  one.since = now;
  one.state = State::off;
  changes_.push_back({now, replica, false});
}

void ReplicaScaling::finish_starts(SimTime now) {
  for (Replica& one : replicas_) {
    if (one.state == State::starting && one.since + scaling_.start_up <= now) {
      one.state = State::on;
    }
  }
}

// The last ones first.
void ReplicaScaling::shrink(SimTime at) {
  finish_starts(at);
  for (auto replica = static_cast<std::uint32_t>(replicas_.size());
       replica-- > 0 && active() > most_wanted_;) {
    const Replica& one = replicas_[replica];
    if (one.state == State::starting || (one.state == State::on && !one.busy)) {
      switch_off(replica, at);
    } else if (one.state == State::on) {
      replicas_[replica].state = State::stopping;
    }
  }
}

void ReplicaScaling::advance(SimTime now) {
  while (!fewer_since_.is_never() && fewer_since_ + scaling_.idle <= now) {
    const SimTime at = fewer_since_ + scaling_.idle;
    shrink(at);
    fewer_since_ = SimTime::never();
    want(at, wanted_);
  }
  finish_starts(now);
}

void ReplicaScaling::want(SimTime now, std::uint32_t wanted) {
  wanted_ = wanted;
  // Those that are to stop are there already.
  for (Replica& one : replicas_) {
    if (active() < wanted && one.state == State::stopping) {
      one.state = State::on;
    }
  }
  for (std::uint32_t replica = 0; replica < replicas_.size() && active() < wanted; ++replica) {
    if (replicas_[replica].state == State::off) {
      switch_on(replica, now);
    }
  }
  if (active() <= wanted) {
    fewer_since_ = SimTime::never();
  } else if (fewer_since_.is_never()) {
    fewer_since_ = now;
    most_wanted_ = wanted;
  } else {
    most_wanted_ = std::max(most_wanted_, wanted);
  }
}

void ReplicaScaling::change(SimTime now, std::span<const std::uint64_t> unfinished) {
  advance(now);
  for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) {
    replicas_[replica].busy = unfinished[replica] > 0;
    if (replicas_[replica].state == State::stopping && unfinished[replica] == 0) {
      switch_off(replica, now);
    }
  }
  const std::uint64_t all = std::accumulate(unfinished.begin(), unfinished.end(), std::uint64_t{0});
  const std::uint64_t wanted = quotient_up(all, std::uint64_t{scaling_.requests});
  want(now, static_cast<std::uint32_t>(
                std::clamp<std::uint64_t>(wanted, scaling_.least, replicas_.size())));
}

void ReplicaScaling::save(pdes::StateWriter& writer) const {
  writer.put_all(replicas_);
  writer.put(wanted_);
  writer.put(most_wanted_);
  writer.put(fewer_since_);
}

void ReplicaScaling::restore(pdes::StateReader& reader) {
  replicas_ = reader.get_all<Replica>();
  wanted_ = reader.get<std::uint32_t>();
  most_wanted_ = reader.get<std::uint32_t>();
  fewer_since_ = reader.get<SimTime>();
}

}  // namespace tessera::executor
