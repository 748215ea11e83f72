#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "tessera/config/key.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/campaign.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::explore {
namespace {

using config::at_least;
using config::between;
using config::counted_in;
using config::Key;
using config::OptionalKey;

constexpr config::Range<double> not_negative{0, 1e18};
constexpr config::Range<double> positive{1e-9, 1e18};
constexpr double hour_s = 3600;
constexpr double day_s = 86400;

Key<double> in(const char* unit, const char* name, double usual, const char* help) {
  return counted_in(unit, Key<double>(name, usual, help, not_negative));
}
OptionalKey<double> maybe_in(const char* unit, const char* name, const char* absent,
                             const char* help) {
  return counted_in(unit, OptionalKey<double>(name, absent, help, positive));
}

const OptionalKey<std::string> run_key{
    "run", "none",
    "folder of a run, from which time, devices, tokens and power of an iteration are taken"};
const auto time_key = maybe_in("s", "iteration.time", "from the run", "time of one iteration");
const OptionalKey<std::uint64_t> devices_key{"iteration.devices", "from the run", "devices at work",
                                             between<std::uint64_t>(1, 1ULL << 32)};
const auto power_key = maybe_in("W", "iteration.power", "from the run, or 0",
                                "power of a device and its part of the server, at work");
const auto idle_power_key = maybe_in("W", "iteration.idle_power", "as iteration.power",
                                     "power of a device and its part of the "
                                     "server, during checkpoints and restarts");
const auto tokens_key =
    maybe_in("tokens", "iteration.tokens", "from the run, or unknown", "tokens of one iteration");
const auto iterations_key =
    maybe_in("iterations", "work.iterations", "from work.days", "iterations to be done");
const auto days_key = maybe_in("days", "work.days", "from work.iterations",
                               "days that the iterations alone would take");
const auto device_mtbf_key = maybe_in("h", "failures.device_mtbf", "it never fails",
                                      "mean time between failures of one device");
const auto node_mtbf_key = maybe_in("h", "failures.node_mtbf", "it never fails",
                                    "mean time between failures of what the devices of a server "
                                    "share");
const Key<std::uint64_t> devices_per_node_key{
    "failures.devices_per_node", 8, "devices in a server; only the last server may have fewer",
    between<std::uint64_t>(1, 1ULL << 32)};
const auto cost_key = maybe_in("s", "checkpoint.cost", "size over bandwidth",
                               "time for which training waits for a checkpoint");
const OptionalKey<Bytes> size_key{
    "checkpoint.size", "none", "size of a checkpoint of all devices together", at_least(Bytes(1))};
const OptionalKey<Bandwidth> bandwidth_key{"checkpoint.bandwidth", "none",
                                           "bandwidth of the storage",
                                           at_least(Bandwidth::bytes_per_second(1))};
const auto interval_key = maybe_in("s", "checkpoint.interval", "optimal by Daly's formula",
                                   "time of work between two checkpoints");
const auto restart_key = in("s", "restart", 0, "time from a failure until training continues");
const Key<double> share_key{"stragglers.share", 0, "share of devices that are slow in an iteration",
                            between(0.0, 1.0)};
const Key<double> slowdown_key{"stragglers.slowdown", Campaign{}.straggler_slowdown,
                               "slowdown of an iteration that waits for a slow device",
                               between(1.0, 1e6)};
const auto kwh_key = in("money", "prices.kwh", 0, "price of a kilowatt-hour");
const auto device_hour_key = in("money", "prices.device_hour", 0, "price of a device per hour");
const Key<double> usage_key{"prices.power_usage", Campaign{}.power_usage,
                            "watts of the building for each watt of its machines (PUE)",
                            between(1.0, 10.0)};
const Key<std::uint64_t> campaign_seed_key{"seed", Campaign{}.seed, "seed of the draws"};
const Key<std::uint32_t> trials_key{"trials", 200, "number of trials that are drawn; 0: none",
                                    between(0U, 1'000'000U)};

void read_iteration(config::Section& section, Campaign& campaign) {
  std::optional<trace::Summary> summary;
  bool is_refused = false;
  if (const auto folder = run_key.read(section)) {
    const std::string path = *folder + "/summary.json";
    if (std::error_code unknown; !std::filesystem::is_regular_file(path, unknown)) {
      section.error("run", "there is no run in '" + *folder + "': it has no summary.json");
      is_refused = true;
    } else {
      summary = trace::read_summary(path);
    }
    if (summary && !summary->services.empty()) {
      section.error("run", "serves requests, and has no iterations of a training");
      is_refused = true;
    }
  }
  config::Section part = section.section("iteration");
  const auto time = time_key.read(part);
  const auto devices = devices_key.read(part);
  const auto power = power_key.read(part);
  const auto idle = idle_power_key.read(part);
  const auto tokens = tokens_key.read(part);
  if (is_refused) {
    return;
  }
  if (!summary && (!part.has("time") || !part.has("devices"))) {
    section.error("iteration", "needs time and devices, or `run` a run that has them");
    return;
  }
  campaign.iteration_s =
      time.value_or(summary ? static_cast<double>(summary->iteration_time_ps) * 1e-12 : 0);
  campaign.devices = static_cast<double>(devices.value_or(summary ? summary->tiles : 0));
  campaign.power_w = power.value_or(summary ? summary->power_w_per_tile : 0);
  campaign.idle_power_w = idle.value_or(campaign.power_w);
  campaign.tokens_per_iteration =
      tokens.value_or(summary ? static_cast<double>(summary->tokens_per_iteration) : 0);
  if (summary && (campaign.iteration_s <= 0 || campaign.devices < 1)) {
    section.error("run", "has not finished an iteration");
  }
}

void read_work(config::Section& section, Campaign& campaign) {
  config::Section part = section.section("work");
  const auto iterations = iterations_key.read(part);
  const auto days = days_key.read(part);
  if (iterations.has_value() == days.has_value()) {
    section.error("work", "needs either iterations or days");
    return;
  }
  campaign.iterations =
      iterations ? *iterations : *days * day_s / std::max(campaign.iteration_s, 1e-9);
}

void read_failures(config::Section part, Campaign& campaign) {
  const auto per_node = static_cast<double>(devices_per_node_key.read(part));
  if (const auto hours = device_mtbf_key.read(part)) {
    campaign.failures_per_s += campaign.devices / (*hours * hour_s);
  }
  if (const auto hours = node_mtbf_key.read(part)) {
    campaign.failures_per_s += std::ceil(campaign.devices / per_node) / (*hours * hour_s);
  }
}

void read_checkpoint(config::Section part, Campaign& campaign) {
  const auto cost = cost_key.read(part);
  const auto size = size_key.read(part);
  const auto bandwidth = bandwidth_key.read(part);
  campaign.interval_s = interval_key.read(part);
  if (size.has_value() != bandwidth.has_value()) {
    part.error("size", "goes together with bandwidth");
  } else if (cost && size) {
    part.error("cost", "is size over bandwidth already");
  }
  campaign.checkpoint_s =
      cost.value_or(size && bandwidth ? static_cast<double>(size->count()) /
                                            static_cast<double>(bandwidth->bytes_per_second())
                                      : 0);
}

}  // namespace

Campaign read_campaign(config::Section& section) {
  Campaign campaign;
  read_iteration(section, campaign);
  read_work(section, campaign);
  read_failures(section.section("failures"), campaign);
  read_checkpoint(section.section("checkpoint"), campaign);
  campaign.restart_s = restart_key.read(section);
  config::Section stragglers = section.section("stragglers");
  campaign.straggler_share = share_key.read(stragglers);
  campaign.straggler_slowdown = slowdown_key.read(stragglers);
  config::Section prices = section.section("prices");
  campaign.price_kwh = kwh_key.read(prices);
  campaign.price_device_hour = device_hour_key.read(prices);
  campaign.power_usage = usage_key.read(prices);
  campaign.seed = campaign_seed_key.read(section);
  campaign.trials = trials_key.read(section);
  if (campaign.iteration_s > 0 && campaign.devices > 0 && campaign.iterations > 0) {
    // Else there are complaints already.
    if (const double least = mean_iteration_s(campaign);
        campaign.interval_s && *campaign.interval_s < least) {
      section.section("checkpoint")
          .error("interval",
                 "is shorter than an iteration, which takes " + format_number(least) + " s");
      return campaign;
    }
    if (const auto fault = fault_of(campaign)) {
      section.error(fault->key, fault->message);
    }
  }
  return campaign;
}

std::vector<ParameterInfo> campaign_parameters() {
  return {run_key,
          time_key,
          devices_key,
          power_key,
          idle_power_key,
          tokens_key,
          iterations_key,
          days_key,
          device_mtbf_key,
          node_mtbf_key,
          devices_per_node_key,
          cost_key,
          size_key,
          bandwidth_key,
          interval_key,
          restart_key,
          share_key,
          slowdown_key,
          kwh_key,
          device_hour_key,
          usage_key,
          campaign_seed_key,
          trials_key};
}

}  // namespace tessera::explore
