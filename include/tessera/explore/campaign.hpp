// A training of weeks, of which one iteration is known: failures, checkpoints and restarts, what of
// the time is left for work, energy and cost.
//
// Method. Failures of all devices and servers together come as a Poisson process. Work is cut in
// equal parts, each of which ends with a checkpoint that the work waits for; a failure throws the
// part away that it falls in, and a restart follows, which a failure may interrupt as well. With
// rate L, a part of w seconds, a checkpoint of C and a restart of R, a part takes in the mean
//   e^(L R) (e^(L (w + C)) - 1) / L
// (Daly, "A higher order estimate of the optimum checkpoint interval", FGCS 22 (2006),
// equation (13)), exactly; the interval, unless given, is his estimate of the best,
//   sqrt(2 C M) (1 + sqrt(C / 2M) / 3 + (C / 2M) / 9) - C,  M = 1 / L,  and M where C >= 2 M
// (equation (37)). The same process is drawn with a seed, for the spread about the mean.
// Stragglers: an iteration in which any device is slow takes so many times as long.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::explore {

// Times in seconds, power in watts.
struct Campaign {
  double iteration_s = 0;
  double iterations = 0;
  double devices = 1;
  double tokens_per_iteration = 0;  // 0: not known
  double failures_per_s = 0;        // of all devices and servers
  double checkpoint_s = 0;
  std::optional<double> interval_s;  // none: the best
  double restart_s = 0;
  double straggler_share = 0;     // of devices, in each iteration
  double straggler_slowdown = 1;  // of an iteration that waits for one
  double power_w = 0;             // of a device and its part of the server, at work
  double idle_power_w = 0;        // the same during restarts and checkpoints
  double power_usage = 1;         // of the building, for each watt of its machines
  double price_kwh = 0;
  double price_device_hour = 0;
  std::uint64_t seed = 1;
  std::uint32_t trials = 0;  // 0: none are drawn
};

// Drawn ones, of the time of all.
struct CampaignSpread {
  double mean_s = 0;
  double standard_error_s = 0;
  double p5_s = 0;
  double p95_s = 0;
  double failures = 0;  // mean
};

struct CampaignResult {
  double work_s = 0;         // without failures, checkpoints and stragglers
  double interval_s = 0;     // of work between two checkpoints
  double time_s = 0;         // expected, of all
  double checkpoints_s = 0;  // of that: written and kept
  double restarts_s = 0;
  double lost_s = 0;        // done in vain
  double stragglers_s = 0;  // waited for
  double failures = 0;
  double goodput = 0;  // work / time
  double energy_kwh = 0;
  double cost = 0;  // in the currency of the prices
  double tokens = 0;
  std::optional<CampaignSpread> drawn;
};

// Why there is no outlook, and the key of the file that is at fault.
struct CampaignFault {
  std::string key;
  std::string message;
};
// Failures that leave no hope: an expected time beyond 10^15 s. And draws that would not end soon:
// more than 10^9 failures, or 10^11 parts of work, expected in all trials together; the message has
// what the closed form says.
std::optional<CampaignFault> fault_of(const Campaign& campaign);

// Of an iteration, some of which wait for slow devices [s].
double mean_iteration_s(const Campaign& campaign);

// Throws ConfigError where there is a fault.
CampaignResult outlook_of(const Campaign& campaign);

// Reads a file of a campaign:
//   run: DIR | iteration: {time, devices, power, idle_power, tokens}
//   work: {iterations | days}, failures: {device_mtbf, node_mtbf, devices_per_node},
//   checkpoint: {cost | size, bandwidth; interval}, restart, stragglers: {share, slowdown},
//   prices: {kwh, device_hour, power_usage}, seed, trials
// Complaints go to the section's diagnostics; throws IoError where `run` has no summary.
Campaign read_campaign(config::Section& section);
std::vector<ParameterInfo> campaign_parameters();

}  // namespace tessera::explore
