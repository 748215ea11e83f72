#include "tessera/memory/dram/drive.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <queue>
#include <vector>

#include "tessera/core/error.hpp"
#include "tessera/core/random.hpp"

namespace tessera::memory {
namespace {

class Driver {
 public:
  Driver(const DramSpec& spec, const DramDrive& drive)
      : organization_(spec.organization),
        drive_(drive),
        map_(spec),
        addresses_(drive.seed, EntityId(0), 0),
        kinds_(drive.seed, EntityId(0), 1),
        bursts_(spec.organization.capacity().count() / spec.organization.burst.count()) {
    for (std::uint32_t i = 0; i < organization_.channels; ++i) {
      channels_.push_back(make_dram_channel(spec));
    }
    waiting_.resize(drive.by_channel ? organization_.channels : 1);
    submitted_at_.resize(static_cast<std::size_t>(drive.requests));
  }

  DramMeasure run() {
    Cycle now = measure_.first = drive_.first;
    for (; measure_.requests < drive_.requests; now = next_cycle(now)) {
      submitted_now_ = 0;
      for (std::size_t line = 0; line < waiting_.size(); ++line) {
        submit_all(now, line);
      }
      for (const auto& channel : channels_) {
        if (channel->next() <= now) {
          channel->tick(now, done_);
        }
      }
      take_done(now);
    }
    add_counts();
    return measure_;
  }

 private:
  struct Request {
    std::uint32_t channel;
    DramRequest request;
  };
  struct Later {
    bool operator()(const DramDone& a, const DramDone& b) const { return a.finish > b.finish; }
  };

  Request make() {
    const std::uint64_t number = made_++;
    DramPlace place = place_of(number);
    const bool write = drive_.writes.millionths() > 0 &&
                       kinds_.next_below(Fraction::one) < drive_.writes.millionths();
    return {place.channel, {number, map_.burst_at(place), place.bank, place.row, write}};
  }

  DramPlace place_of(std::uint64_t number) {
    switch (drive_.pattern) {
      case DramPattern::stream:
        return map_.place(number % bursts_);
      case DramPattern::random:
        return map_.place(addresses_.next_below(bursts_));
      case DramPattern::conflict:
        return {0, 0, static_cast<std::uint32_t>(number % organization_.rows), 0};
      case DramPattern::conflict_each:
        return {static_cast<std::uint32_t>(number % organization_.channels), 0,
                static_cast<std::uint32_t>(number / organization_.channels % organization_.rows),
                0};
      default:
        return {0, 0, 0, static_cast<std::uint32_t>(number % organization_.bursts)};
    }
  }

  void submit_all(Cycle now, std::size_t line) {
    while (may_submit() && next_submission_ <= now) {
      if (drive_.per_cycle > 0 && submitted_now_ == drive_.per_cycle) {
        next_submission_ = now + 1;
        return;
      }
      if (waiting_[line].empty() && !fetch(line)) {
        return;
      }
      const Request& next = waiting_[line].front();
      DramChannel& channel = *channels_[next.channel];
      if (!channel.accepts(next.request.write)) {
        return;
      }
      submitted_at_[static_cast<std::size_t>(next.request.id)] = now;
      channel.submit(now, next.request, done_);
      waiting_[line].pop_front();
      ++outstanding_;
      ++submitted_now_;
      next_submission_ = now + drive_.interval;
    }
  }
  bool may_submit() const { return drive_.outstanding == 0 || outstanding_ < drive_.outstanding; }

  // The next request of a line; those of other lines on the way wait in theirs.
  bool fetch(std::size_t line) {
    while (made_ < drive_.requests) {
      const Request request = make();
      const std::size_t own = waiting_.size() > 1 ? request.channel : 0;
      waiting_[own].push_back(request);
      if (own == line) {
        return true;
      }
    }
    return false;
  }

  void take_done(Cycle now) {
    for (const DramDone& done : done_) {
      const Cycle latency = done.finish + 1 - submitted_at_[static_cast<std::size_t>(done.id)];
      measure_.latency_sum += static_cast<std::uint64_t>(latency);
      measure_.latency_most = std::max(measure_.latency_most, latency);
      measure_.cycles = std::max(measure_.cycles, done.finish + 1);
      ++measure_.requests;
      if (drive_.outstanding > 0) {
        under_way_.push(done);
      }
    }
    done_.clear();
    while (!under_way_.empty() && under_way_.top().finish <= now) {
      under_way_.pop();
      --outstanding_;
      next_submission_ = std::max(next_submission_, now + 1);
    }
  }

  Cycle next_cycle(Cycle now) const {
    Cycle next = no_cycle;
    for (const auto& channel : channels_) {
      next = std::min(next, channel->next());
    }
    if (!under_way_.empty()) {
      next = std::min(next, under_way_.top().finish);
    }
    // Who was not accepted is tried again after the channel's next command, or at once where that
    // was its last.
    if (may_submit() && (next_submission_ > now || waits_for_idle())) {
      next = std::min(next, std::max(next_submission_, now + 1));
    }
    ensure(next != no_cycle || measure_.requests == drive_.requests, "a DRAM that never ends");
    return std::max(next, now + 1);
  }

  bool waits_for_idle() const {
    return std::any_of(waiting_.begin(), waiting_.end(), [&](const std::deque<Request>& line) {
      return !line.empty() && channels_[line.front().channel]->next() == no_cycle;
    });
  }

  void add_counts() {
    for (const auto& channel : channels_) {
      measure_.counts += channel->counts();
    }
  }

  DramOrganization organization_;
  DramDrive drive_;
  DramAddressMap map_;
  RandomStream addresses_;
  RandomStream kinds_;
  std::uint64_t bursts_;
  std::vector<std::unique_ptr<DramChannel>> channels_;
  std::vector<std::deque<Request>> waiting_;  // [lines]
  std::vector<Cycle> submitted_at_;           // [requests]
  std::vector<DramDone> done_;
  std::priority_queue<DramDone, std::vector<DramDone>, Later> under_way_;
  std::uint64_t made_ = 0;
  std::uint64_t outstanding_ = 0;
  std::uint64_t submitted_now_ = 0;  // in this cycle
  Cycle next_submission_ = 0;
  DramMeasure measure_;
};

}  // namespace

double DramMeasure::utilization(const DramSpec& spec) const {
  const double bus_cycles = static_cast<double>(requests) * static_cast<double>(spec.timing.burst);
  const double buses =
      static_cast<double>(spec.organization.channels) * spec.organization.pseudo_channels;
  return bus_cycles / (static_cast<double>(duration()) * buses);
}

DramMeasure drive_dram(const DramSpec& spec, const DramDrive& drive) {
  return Driver(spec, drive).run();
}

}  // namespace tessera::memory
