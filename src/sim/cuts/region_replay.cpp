#include "cuts/region_replay.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace tessera::sim {
namespace {

enum PointKind : std::uint32_t { begins, ends, sends, receives };

constexpr double events_a_message = 1000;
constexpr double least_followed = 10'000;
constexpr double most_followed = 100'000;

}  // namespace

std::size_t best_of(std::span<const Replay> replays) {
  constexpr double as_fast = 1.02;
  constexpr double worth_crossings = 1.05;
  const auto fastest = std::ranges::min_element(replays, {}, &Replay::wall_s);
  std::size_t best = static_cast<std::size_t>(fastest - replays.begin());
  for (std::size_t i = 0; i < replays.size(); ++i) {
    if (replays[i].wall_s <= fastest->wall_s * as_fast && replays[i].waits < replays[best].waits) {
      best = i;
    }
  }
  const std::uint64_t few = replays[best].messages / 3 * 2;
  for (std::size_t i = 0; i < replays.size(); ++i) {
    if (replays[i].wall_s <= fastest->wall_s * worth_crossings && replays[i].messages < few &&
        replays[i].messages < replays[best].messages) {
      best = i;
    }
  }
  return best;
}

std::uint32_t replay_thinning(double messages, double events) {
  return static_cast<std::uint32_t>(
      messages / std::clamp(events / events_a_message, least_followed, most_followed) + 1);
}

void RegionReplay::add_work(std::uint32_t rank, std::int64_t begin, std::int64_t end,
                            double events) {
  const std::int64_t length = std::max<std::int64_t>(1, end - begin);
  const auto rate = static_cast<float>(events / static_cast<double>(length));
  points_.push_back({begin, begins, rank, 0, rate});
  points_.push_back({begin + length, ends, rank, 0, rate});
  events_[rank] += events;
}

void RegionReplay::add_message(std::uint32_t from, std::uint32_t to, std::int64_t sent,
                               std::int64_t arrives, std::uint32_t times, std::int64_t apart,
                               double events) {
  const auto number = static_cast<std::uint32_t>(messages_.size());
  messages_.push_back({times, apart, events, 0, 0});
  crossing_ += events;
  points_.push_back({sent, sends, from, number, 0});
  points_.push_back({arrives, receives, to, number, 0});
}

Replay RegionReplay::run() {
  std::sort(points_.begin(), points_.end(), [](const Point& a, const Point& b) {
    return std::tie(a.at, a.kind, a.message, a.rank) < std::tie(b.at, b.kind, b.message, b.rank);
  });
  for (const Point& point : points_) {
    pass(point);
  }
  Replay replay;
  const double total = std::accumulate(events_.begin(), events_.end(), 0.0);
  replay.one_rank_s = total * costs_.event_s;
  replay.messages = static_cast<std::uint64_t>(std::llround(crossing_));
  for (const Region& region : regions_) {
    replay.wall_s = std::max(replay.wall_s, region.wall_s);
    replay.waits = std::max(replay.waits, region.waits);
  }
  if (total > 0) {
    replay.imbalance = *std::max_element(events_.begin(), events_.end()) *
                       static_cast<double>(events_.size()) / total;
  }
  return replay;
}

void RegionReplay::pass(const Point& point) {
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
      region.wall_s += costs_.side_s * message.events;
      message.burst_s = costs_.burst *
                        std::min(region.unsent_s,
                                 region.rate * static_cast<double>(message.apart) * costs_.event_s);
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
        region.wall_s += std::min(wait_s, costs_.message_s + message.burst_s) * (message.times - 1);
      }
      region.wall_s += costs_.side_s * message.events;
    }
  }
}

}  // namespace tessera::sim
