#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include "tessera/core/error.hpp"
#include "tessera/core/ids.hpp"
#include "tessera/core/portable_math.hpp"
#include "tessera/core/random.hpp"
#include "tessera/explore/campaign.hpp"

namespace tessera::explore {
namespace {

constexpr double longest_s = 1e15;
constexpr double most_failures = 1e9;  // drawn, in all trials together
constexpr double most_parts = 1e11;
constexpr double joules_a_kwh = 3.6e6;
constexpr double seconds_an_hour = 3600;
constexpr double seconds_a_day = 86400;

// Daly, equation (37).
double best_interval(double checkpoint_s, double between_failures_s) {
  const double ratio = checkpoint_s / (2 * between_failures_s);
  if (ratio >= 1) {
    return between_failures_s;
  }
  return std::sqrt(2 * checkpoint_s * between_failures_s) * (1 + std::sqrt(ratio) / 3 + ratio / 9) -
         checkpoint_s;
}

// Parts of work that are written away one after the other.
struct Parts {
  double interval_s = 0;
  double whole = 0;   // so many of `interval_s`
  double last_s = 0;  // and one of this, if there is any
};

// Of iterations that wait for a slow device.
double waiting_share(const Campaign& campaign) {
  const double none_slow =
      campaign.straggler_share < 1
          ? portable_exp(campaign.devices * portable_log(1 - campaign.straggler_share))
          : 0;
  return 1 - none_slow;
}

Parts parts_of(const Campaign& campaign, double work_s) {
  Parts parts;
  const double between = campaign.failures_per_s > 0 ? 1 / campaign.failures_per_s : longest_s;
  parts.interval_s = campaign.interval_s.value_or(
      campaign.checkpoint_s > 0 ? best_interval(campaign.checkpoint_s, between)
                                : mean_iteration_s(campaign));
  parts.interval_s =
      std::min(std::max(parts.interval_s, mean_iteration_s(campaign)), std::max(work_s, 1e-9));
  parts.whole = std::floor(work_s / parts.interval_s);
  parts.last_s = std::max(0.0, work_s - parts.whole * parts.interval_s);
  return parts;
}

// Sums over the parts of e^(L (w + C)) - 1: how often each fails.
double tries_in_vain(const Campaign& campaign, const Parts& parts) {
  const auto of = [&](double work_s) {
    return portable_exp(campaign.failures_per_s * (work_s + campaign.checkpoint_s)) - 1;
  };
  return parts.whole * of(parts.interval_s) + (parts.last_s > 0 ? of(parts.last_s) : 0);
}

class Trial {
 public:
  Trial(const Campaign& campaign, std::uint32_t number)
      : campaign_(campaign), draws_(campaign.seed, EntityId(number), 0x43616d70) {
    draw();
  }

  double run(const Parts& parts) {
    for (double part = 0; part < parts.whole; ++part) {
      work(parts.interval_s);
    }
    if (parts.last_s > 0) {
      work(parts.last_s);
    }
    return now_;
  }
  double failures() const { return failures_; }

 private:
  void draw() { next_ = now_ + draws_.next_exponential(1 / campaign_.failures_per_s); }

  // Whether nothing fails before it is over.
  bool last(double seconds) {
    if (now_ + seconds < next_) {
      now_ += seconds;
      return true;
    }
    now_ = next_;
    ++failures_;
    draw();
    return false;
  }

  void work(double seconds) {
    while (!last(seconds + campaign_.checkpoint_s)) {
      while (!last(campaign_.restart_s)) {
      }
      if (now_ > longest_s) {
        throw ConfigError("failures come too often for the work ever to be done");
      }
    }
  }

  const Campaign& campaign_;
  RandomStream draws_;
  double now_ = 0;
  double next_ = 0;
  double failures_ = 0;
};

CampaignSpread drawn(const Campaign& campaign, const Parts& parts) {
  CampaignSpread spread;
  std::vector<double> times;
  for (std::uint32_t number = 0; number < campaign.trials; ++number) {
    Trial trial(campaign, number);
    times.push_back(trial.run(parts));
    spread.failures += trial.failures() / campaign.trials;
    spread.mean_s += times.back() / campaign.trials;
  }
  double squares = 0;
  for (const double time : times) {
    squares += (time - spread.mean_s) * (time - spread.mean_s);
  }
  const double count = campaign.trials;
  spread.standard_error_s = count > 1 ? std::sqrt(squares / (count - 1) / count) : 0;
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double share) {  // by nearest rank
    const auto rank = static_cast<std::size_t>(std::ceil(share * count));
    return times[std::max<std::size_t>(rank, 1) - 1];
  };
  spread.p5_s = quantile(0.05);
  spread.p95_s = quantile(0.95);
  return spread;
}

struct Expected {
  CampaignResult result;
  Parts parts;
};

Expected expected_of(const Campaign& campaign) {
  Expected expected;
  CampaignResult& result = expected.result;
  result.work_s = campaign.iteration_s * campaign.iterations;
  result.stragglers_s = result.work_s * waiting_share(campaign) * (campaign.straggler_slowdown - 1);
  const double busy_s = result.work_s + result.stragglers_s;
  const Parts& parts = expected.parts = parts_of(campaign, busy_s);
  result.interval_s = parts.interval_s;
  result.checkpoints_s = campaign.checkpoint_s * (parts.whole + (parts.last_s > 0 ? 1 : 0));
  const double rate = campaign.failures_per_s;
  result.time_s = busy_s + result.checkpoints_s;
  if (rate > 0) {
    const double vain = tries_in_vain(campaign, parts);
    result.restarts_s = vain * (portable_exp(rate * campaign.restart_s) - 1) / rate;
    result.time_s = vain / rate + result.restarts_s;
    result.lost_s = std::max(0.0, vain / rate - busy_s - result.checkpoints_s);
    result.failures = result.time_s * rate;
  }
  result.goodput = result.time_s > 0 ? result.work_s / result.time_s : 0;
  const double at_rest_s = result.restarts_s + result.checkpoints_s;
  result.energy_kwh =
      (campaign.power_w * (result.time_s - at_rest_s) + campaign.idle_power_w * at_rest_s) *
      campaign.devices * campaign.power_usage / joules_a_kwh;
  result.cost = result.energy_kwh * campaign.price_kwh +
                result.time_s / seconds_an_hour * campaign.devices * campaign.price_device_hour;
  result.tokens = campaign.tokens_per_iteration * campaign.iterations;
  return expected;
}

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::optional<CampaignFault> fault_in(const Campaign& campaign, const Expected& expected) {
  const CampaignResult& result = expected.result;
  if (!(campaign.iterations * mean_iteration_s(campaign) < longest_s)) {
    return CampaignFault{"work", "takes more than 10^15 s without any failure"};
  }
  if (!(result.time_s < longest_s) && campaign.failures_per_s == 0) {
    return CampaignFault{"checkpoint", "the run takes more than 10^15 s with all of them"};
  }
  if (!(result.time_s < longest_s)) {
    return CampaignFault{"failures", "failures come too often for the work ever to be done"};
  }
  const double trials = campaign.failures_per_s > 0 ? campaign.trials : 0;
  const double failures = trials * result.failures;
  const double parts = trials * expected.parts.whole;
  if (failures <= most_failures && parts <= most_parts) {
    return std::nullopt;
  }
  const bool too_many_fail = failures > most_failures;
  return CampaignFault{
      "trials", "would draw " + short_number(too_many_fail ? failures : parts) +
                    (too_many_fail ? " failures" : " parts of work") + ", at most " +
                    short_number(too_many_fail ? most_failures : most_parts) + "; expected are " +
                    short_number(result.time_s / seconds_a_day) + " days with a goodput of " +
                    short_number(100 * result.goodput) +
                    " % (give fewer trials, or 0 for what is expected alone)"};
}

}  // namespace

double mean_iteration_s(const Campaign& campaign) {
  return campaign.iteration_s * (1 + waiting_share(campaign) * (campaign.straggler_slowdown - 1));
}

std::optional<CampaignFault> fault_of(const Campaign& campaign) {
  return fault_in(campaign, expected_of(campaign));
}

CampaignResult outlook_of(const Campaign& campaign) {
  Expected expected = expected_of(campaign);
  if (const auto fault = fault_in(campaign, expected)) {
    throw ConfigError(fault->key + ": " + fault->message);
  }
  if (campaign.trials > 0 && campaign.failures_per_s > 0) {
    expected.result.drawn = drawn(campaign, expected.parts);
  }
  return expected.result;
}

}  // namespace tessera::explore
