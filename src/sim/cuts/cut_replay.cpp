#include "cuts/cut_replay.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

namespace tessera::sim {
namespace {

// Messages that are followed: so few that a prediction takes a small part of the run's time.
constexpr double events_a_message = 1000;
constexpr double least_followed = 10'000;
constexpr double most_followed = 100'000;

// Something at a time that concerns a region.
struct Point {
  std::int64_t at = 0;
  std::uint32_t kind = 0;  // as below; of one time in this order
  std::uint32_t rank = 0;
  std::uint32_t message = 0;
  float events = 0;  // of begins and ends: events a picosecond more or less
};
enum PointKind : std::uint32_t { begins, ends, sends, receives };

struct Message {
  std::uint32_t times = 1;  // it stands for so many
  std::int64_t apart = 0;   // from the next alike [ps]; 0: it is the only one
  double sent_s = 0;        // at the end of the burst it is in
  double burst_s = 0;
};

struct Region {
  std::int64_t at = 0;
  double rate = 0;  // events a picosecond
  double wall_s = 0;
  double unsent_s = 0;  // of work since the last message that it sent
  std::uint64_t waits = 0;
};

class Replaying {
 public:
  Replaying(const PlanTimes& times, const CutWork& work, int ranks, const ReplayCosts& costs)
      : times_(times), work_(work), costs_(costs), regions_(static_cast<std::size_t>(ranks)) {}

  Replay run() {
    double all = 0;
    for (const PlanTimes::Handing& handing : times_.handings) {
      for (const CutWork::Crossing& crossing :
           work_.crossings(PlanTraffic::exchange(handing.job, handing.talk))) {
        all += crossing.on_the_way ? crossing.steps : 1;
      }
    }
    for (const PlanTimes::Run& run : times_.runs) {
      for (const CutWork::Share& share : work_.shares(run.job)) {
        total_ += share.events;
      }
      for (const Talk talk : spread) {
        for (const CutWork::Crossing& crossing :
             work_.crossings(PlanTraffic::exchange(run.job, talk))) {
          all += crossing.steps;
        }
      }
    }
    thinning_ = static_cast<std::uint32_t>(
        all / std::clamp(total_ / events_a_message, least_followed, most_followed) + 1);
    for (const PlanTimes::Run& run : times_.runs) {
      add_work(run);
      for (const Talk talk : spread) {
        add_exchange(run, talk);
      }
    }
    for (const PlanTimes::Handing& handing : times_.handings) {
      add_handing(handing);
    }
    std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
      return std::tie(a.at, a.kind, a.message, a.rank) < std::tie(b.at, b.kind, b.message, b.rank);
    });
    for (const Point& point : points_) {
      pass(point);
    }
    return result();
  }

 private:
  // Those that go on through a pass.
  static constexpr std::array<Talk, 4> spread{Talk::tensor, Talk::replicas, Talk::tied,
                                              Talk::memory};

  void add_work(const PlanTimes::Run& run) {
    const std::int64_t length = std::max<std::int64_t>(1, run.end - run.begin);
    for (const CutWork::Share& share : work_.shares(run.job)) {
      const auto rate = static_cast<float>(share.events / static_cast<double>(length));
      points_.push_back({run.begin, begins, share.rank, 0, rate});
      points_.push_back({run.begin + length, ends, share.rank, 0, rate});
    }
  }

  void add(const CutWork::Crossing& crossing, std::int64_t sent, std::int64_t arrives,
           std::uint32_t times, std::int64_t apart) {
    const auto number = static_cast<std::uint32_t>(messages_.size());
    messages_.push_back({times, apart, 0, 0});
    counted_ += times;
    points_.push_back({sent, sends, crossing.from, number, 0});
    points_.push_back({arrives, receives, crossing.to, number, 0});
  }

  void add_exchange(const PlanTimes::Run& run, Talk talk) {
    const std::size_t exchange = PlanTraffic::exchange(run.job, talk);
    const std::int64_t length = std::max<std::int64_t>(1, run.end - run.begin);
    for (const CutWork::Crossing& crossing : work_.crossings(exchange)) {
      const std::int64_t apart = std::max<std::int64_t>(1, length / std::max(1U, crossing.steps));
      const std::int64_t late = std::min(std::max(times_.hop, times_.step[exchange]), apart);
      for (std::uint32_t step = 0; step < crossing.steps; step += thinning_) {
        const std::int64_t sent = run.begin + apart * step;
        add(crossing, sent,
            sent + std::max<std::int64_t>(1, crossing.on_the_way ? times_.hop : late),
            std::min(thinning_, crossing.steps - step), apart);
      }
    }
  }

  void add_handing(const PlanTimes::Handing& handing) {
    for (const CutWork::Crossing& crossing :
         work_.crossings(PlanTraffic::exchange(handing.job, handing.talk))) {
      if (!crossing.on_the_way) {
        add(crossing, handing.sent, handing.arrives, 1, 0);
        continue;
      }
      const std::int64_t length = std::max<std::int64_t>(1, handing.arrives - handing.sent);
      const std::int64_t apart = std::max<std::int64_t>(1, length / std::max(1U, crossing.steps));
      for (std::uint32_t step = 0; step < crossing.steps; step += thinning_) {
        const std::int64_t sent = handing.sent + apart * step;
        add(crossing, sent, sent + times_.hop, std::min(thinning_, crossing.steps - step), apart);
      }
    }
  }

  void pass(const Point& point) {
    Region& region = regions_[point.rank];
    const double events = region.rate * static_cast<double>(point.at - region.at);
    const double work_s = std::max(0.0, events) * costs_.event_s;
    region.wall_s += work_s;
    region.unsent_s += work_s;
    region.at = point.at;
    switch (point.kind) {
      case begins:
        region.rate += static_cast<double>(point.events);
        break;
      case ends:
        region.rate -= static_cast<double>(point.events);
        break;
      case sends: {
        Message& message = messages_[point.message];
        region.wall_s += costs_.side_s * message.times;
        message.burst_s = costs_.burst * std::min(region.unsent_s,
                                                  region.rate * static_cast<double>(message.apart) *
                                                      costs_.event_s);
        message.sent_s = region.wall_s + message.burst_s;
        region.unsent_s = 0;
        break;
      }
      default: {
        const Message& message = messages_[point.message];
        const double wait_s = message.sent_s + costs_.message_s - region.wall_s;
        if (wait_s > 0) {
          region.wall_s += wait_s;
          region.waits += message.times;
          // The others of a collective, which follow each other, wait as long each, but for what
          // the region did not know of yet when the first came.
          region.wall_s +=
              std::min(wait_s, costs_.message_s + message.burst_s) * (message.times - 1);
        }
        region.wall_s += costs_.side_s * message.times;
      }
    }
  }

  Replay result() const {
    Replay replay;
    replay.one_rank_s = total_ * costs_.event_s;
    replay.messages = counted_;
    for (const Region& region : regions_) {
      replay.wall_s = std::max(replay.wall_s, region.wall_s);
      replay.waits = std::max(replay.waits, region.waits);
    }
    std::vector<double> events(regions_.size());
    for (const PlanTimes::Run& run : times_.runs) {
      for (const CutWork::Share& share : work_.shares(run.job)) {
        events[share.rank] += share.events;
      }
    }
    if (total_ > 0) {
      replay.imbalance = *std::max_element(events.begin(), events.end()) *
                         static_cast<double>(events.size()) / total_;
    }
    return replay;
  }

  const PlanTimes& times_;
  const CutWork& work_;
  ReplayCosts costs_;
  std::vector<Region> regions_;
  std::vector<Point> points_;
  std::vector<Message> messages_;
  std::uint32_t thinning_ = 1;
  std::uint64_t counted_ = 0;
  double total_ = 0;
};

}  // namespace

Replay replay_cut(const PlanTimes& times, const CutWork& work, int ranks,
                  const ReplayCosts& costs) {
  return Replaying(times, work, ranks, costs).run();
}

}  // namespace tessera::sim
