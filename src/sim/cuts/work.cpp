#include "cuts/work.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace tessera::sim {

// One stage's jobs, added up.
class CutWork::Stage {
 public:
  Stage(const PlanTraffic& traffic, const machine::Owners& owner, std::size_t ranks)
      : traffic_(traffic), owner_(owner), ranks_(ranks) {}

  void add_to(CutWork& work, std::size_t stage) {
    first_job_ = traffic_.first_job()[stage];
    const std::size_t jobs = traffic_.first_job()[stage + 1] - first_job_;
    events_.assign(jobs * ranks_, 0);
    found_.clear();
    for (const PlanTraffic::Own& own : traffic_.own(stage)) {
      at(own.job, own.node) += static_cast<double>(own.events);
    }
    for (const PlanTraffic::Flow& flow : traffic_.flows(stage)) {
      add_flow(flow);
    }
    give_shares(work, jobs);
    give_crossings(work, jobs);
  }

 private:
  struct Found {
    std::size_t exchange = 0;
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    std::uint64_t events = 0;     // that cross
    std::uint64_t a_message = 1;  // events of the message with most
    bool on_the_way = false;

    auto key() const { return std::tie(exchange, from, to); }
    void add(const Found& other) {
      events += other.events;
      a_message = std::max(a_message, other.a_message);
      on_the_way = on_the_way || other.on_the_way;
    }
  };

  // Adds to what was found alike, if that is still known: most of it is.
  void find(const Found& found) {
    const std::size_t slot = (found.exchange * 31 + found.from * 7 + found.to) % recent_.size();
    const std::size_t place = recent_[slot];
    if (place < found_.size() && found_[place].key() == found.key()) {
      found_[place].add(found);
      return;
    }
    recent_[slot] = found_.size();
    found_.push_back(found);
  }

  double& at(std::uint32_t job, std::uint32_t node) {
    return events_[(job - first_job_) * ranks_ + owner_[node]];
  }

  // A message is asked for where it begins; at its end the last packet's head comes, and then it.
  void add_flow(const PlanTraffic::Flow& flow) {
    const std::span<const std::uint32_t> route = traffic_.route(flow);
    at(flow.job, route.front()) += flow.messages;
    at(flow.job, route.back()) += flow.messages * (route.size() > 1 ? 2.0 : 1.0);
    for (std::size_t i = 1; i < route.size(); ++i) {
      if (i + 1 < route.size()) {
        at(flow.job, route[i]) += flow.passing;
      }
      const std::uint32_t from = owner_[route[i - 1]];
      const std::uint32_t to = owner_[route[i]];
      if (from != to) {
        // On the way each packet is heard of, at the end the message.
        const bool on_the_way = i + 1 < route.size();
        const std::uint64_t events = on_the_way ? flow.passing : flow.messages;
        find({PlanTraffic::exchange(flow.job, flow.talk), from, to, events,
              (events + flow.messages - 1) / flow.messages, on_the_way});
      }
    }
  }

  void give_shares(CutWork& work, std::size_t jobs) const {
    for (std::size_t job = 0; job < jobs; ++job) {
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const double events = events_[job * ranks_ + rank];
        if (events > 0) {
          work.shares_.push_back({static_cast<std::uint32_t>(rank), events});
        }
      }
      work.first_share_.push_back(work.shares_.size());
    }
  }

  void give_crossings(CutWork& work, std::size_t jobs) {
    std::sort(found_.begin(), found_.end(),
              [](const Found& a, const Found& b) { return a.key() < b.key(); });
    auto next = found_.begin();
    const std::size_t first = PlanTraffic::exchange(first_job_, Talk::previous);
    for (std::size_t exchange = first; exchange < first + jobs * talks; ++exchange) {
      while (next != found_.end() && next->exchange == exchange) {
        Found sum = *next++;
        for (; next != found_.end() && next->key() == sum.key(); ++next) {
          sum.add(*next);
        }
        // Members of a tensor group go in step. What comes from a channel waits its turn there, and
        // members of other groups are each in one of their own, on routes of their own.
        const bool in_turn = exchange % talks != static_cast<std::size_t>(Talk::tensor);
        const std::uint64_t steps =
            std::min<std::uint64_t>(sum.events, in_turn ? std::numeric_limits<std::uint32_t>::max()
                                                        : traffic_.steps(exchange) * sum.a_message);
        work.crossings_.push_back(
            {sum.from, sum.to, static_cast<std::uint32_t>(steps), sum.on_the_way, sum.events});
      }
      work.first_crossing_.push_back(work.crossings_.size());
    }
  }

  const PlanTraffic& traffic_;
  const machine::Owners& owner_;
  std::size_t ranks_;
  std::uint32_t first_job_ = 0;
  std::vector<double> events_;  // [jobs of the stage][ranks]
  std::vector<Found> found_;
  std::array<std::size_t, 4096> recent_{};  // places in it, by a hash of the key
};

CutWork::CutWork(const PlanTraffic& traffic, const machine::Owners& owner, int ranks) {
  Stage stage(traffic, owner, static_cast<std::size_t>(ranks));
  for (std::size_t number = 0; number < traffic.stages(); ++number) {
    stage.add_to(*this, number);
  }
}

}  // namespace tessera::sim
