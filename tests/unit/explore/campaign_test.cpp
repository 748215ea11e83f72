// Trainings of weeks: the closed form, and what is drawn.

#include "tessera/explore/campaign.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera::explore::campaign_test {
namespace {

// 54 days on 16384 devices, 419 failures in them: Llama 3, arXiv:2407.21783, section 3.3.4.
Campaign llama() {
  Campaign campaign;
  campaign.iteration_s = 20;
  campaign.iterations = 54 * 86400 / 20.0;
  campaign.devices = 16384;
  campaign.failures_per_s = 419 / (54 * 86400.0);
  campaign.checkpoint_s = 3;
  campaign.restart_s = 600;
  campaign.trials = 200;
  return campaign;
}

TEST(Campaign, WithoutFailuresTakesWorkAndCheckpoints) {
  Campaign campaign;
  campaign.iteration_s = 10;
  campaign.iterations = 1000;
  campaign.checkpoint_s = 5;
  campaign.interval_s = 1000;
  const CampaignResult result = outlook_of(campaign);
  EXPECT_DOUBLE_EQ(result.work_s, 10'000);
  EXPECT_DOUBLE_EQ(result.checkpoints_s, 50);
  EXPECT_DOUBLE_EQ(result.time_s, 10'050);
  EXPECT_DOUBLE_EQ(result.failures, 0);
  EXPECT_FALSE(result.drawn);
}

TEST(Campaign, ExpectedTimeIsDalysFormula) {
  const Campaign campaign = llama();
  const CampaignResult result = outlook_of(campaign);
  const double rate = campaign.failures_per_s;
  const double parts = result.work_s / result.interval_s;
  const double by_hand =
      parts * std::exp(rate * 600) * (std::exp(rate * (result.interval_s + 3)) - 1) / rate;
  EXPECT_NEAR(result.time_s / by_hand, 1, 1e-4);  // of the part that is left over
  EXPECT_NEAR(result.time_s,
              result.work_s + result.checkpoints_s + result.lost_s + result.restarts_s, 1e-3);
}

TEST(Campaign, DrawnTimesAreAboutTheExpectedOne) {
  for (const double interval : {0.0, 600.0, 7200.0}) {
    Campaign campaign = llama();
    if (interval > 0) {
      campaign.interval_s = interval;
    }
    const CampaignResult result = outlook_of(campaign);
    ASSERT_TRUE(result.drawn);
    EXPECT_NEAR(result.drawn->mean_s, result.time_s, 3 * result.drawn->standard_error_s);
    EXPECT_NEAR(result.drawn->failures, result.failures, 0.05 * result.failures);
    EXPECT_LT(result.drawn->p5_s, result.drawn->p95_s);
    EXPECT_LT(result.drawn->standard_error_s, 0.002 * result.time_s);
  }
}

TEST(Campaign, RestartsThatFailAreTriedAgain) {
  Campaign campaign;
  campaign.iteration_s = 1;
  campaign.iterations = 20'000;
  campaign.failures_per_s = 1e-2;
  campaign.restart_s = 100;  // as long as devices last
  campaign.checkpoint_s = 1;
  campaign.trials = 400;
  const CampaignResult result = outlook_of(campaign);
  EXPECT_NEAR(result.drawn->mean_s, result.time_s, 3 * result.drawn->standard_error_s);
}

TEST(Campaign, DalysIntervalIsTheBest) {
  Campaign campaign = llama();
  campaign.trials = 0;
  const CampaignResult best = outlook_of(campaign);
  for (const double factor : {0.5, 0.8, 1.25, 2.0}) {
    campaign.interval_s = factor * best.interval_s;
    EXPECT_GT(outlook_of(campaign).time_s, best.time_s) << factor;
  }
  // Young's, sqrt(2 C M), to first order.
  EXPECT_NEAR(best.interval_s, std::sqrt(2 * 3 / campaign.failures_per_s), 3.5);
}

TEST(Campaign, SameSeedSameDraws) {
  const CampaignResult one = outlook_of(llama());
  const CampaignResult again = outlook_of(llama());
  EXPECT_EQ(one.drawn->mean_s, again.drawn->mean_s);
  Campaign other = llama();
  other.seed = 2;
  EXPECT_NE(outlook_of(other).drawn->mean_s, one.drawn->mean_s);
}

TEST(Campaign, OneSlowDeviceOfManySlowsTheIteration) {
  Campaign campaign = llama();
  campaign.failures_per_s = 0;
  campaign.straggler_share = 1e-4;
  campaign.straggler_slowdown = 1.5;
  const double waits = 1 - std::pow(1 - 1e-4, 16384);
  EXPECT_NEAR(outlook_of(campaign).stragglers_s, 0.5 * waits * 54 * 86400, 1);
}

TEST(Campaign, EnergyAndCostFollowFromTheTime) {
  Campaign campaign = llama();
  campaign.power_w = 1000;
  campaign.idle_power_w = 300;
  campaign.power_usage = 1.1;
  campaign.price_kwh = 0.1;
  campaign.price_device_hour = 2;
  const CampaignResult result = outlook_of(campaign);
  const double rest = result.restarts_s + result.checkpoints_s;
  const double kwh = (1000 * (result.time_s - rest) + 300 * rest) * 16384 * 1.1 / 3.6e6;
  EXPECT_NEAR(result.energy_kwh / kwh, 1, 1e-12);
  EXPECT_NEAR(result.cost / (0.1 * kwh + 2 * 16384 * result.time_s / 3600), 1, 1e-12);
}

TEST(Campaign, RefusesWhatIsNeverDone) {
  Campaign campaign = llama();
  campaign.failures_per_s = 10;
  EXPECT_THROW(outlook_of(campaign), ConfigError);
}

// 1000 devices that last ten hours each: one in 36 s, and a restart takes 300.
TEST(Campaign, RefusesDrawsThatDoNotEnd) {
  Campaign campaign;
  campaign.iteration_s = 10;
  campaign.iterations = 30 * 8640;
  campaign.devices = 1000;
  campaign.failures_per_s = 1 / 36.0;
  campaign.checkpoint_s = 60;
  campaign.restart_s = 100;
  campaign.trials = 1;
  EXPECT_FALSE(fault_of(campaign).has_value()) << "some 10^7 failures";
  campaign.restart_s = 300;
  const auto fault = fault_of(campaign);
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->key, "trials");
  EXPECT_NE(fault->message.find("goodput"), std::string::npos) << fault->message;
  EXPECT_THROW(outlook_of(campaign), ConfigError);
  campaign.trials = 0;
  EXPECT_FALSE(fault_of(campaign).has_value());
  EXPECT_GT(outlook_of(campaign).failures, 1e9);
}

std::string complaint_of(const std::string& text) {
  config::Diagnostics diagnostics;
  config::Section section(config::parse("c.yaml", text, diagnostics), "", diagnostics);
  read_campaign(section);
  section.finish();
  try {
    diagnostics.throw_if_any();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

// Four devices of one server, of which there is no half.
TEST(Campaign, HasWholeServers) {
  const auto rate_of = [](int devices) {
    config::Diagnostics diagnostics;
    config::Section section(
        config::parse("c.yaml",
                      "iteration: {time: 6, devices: " + std::to_string(devices) +
                          "}\nwork: {days: 100}\nfailures: {node_mtbf: 100}\n",
                      diagnostics),
        "", diagnostics);
    return read_campaign(section).failures_per_s;
  };
  EXPECT_DOUBLE_EQ(rate_of(4), 1 / (100 * 3600.0));
  EXPECT_DOUBLE_EQ(rate_of(8), 1 / (100 * 3600.0));
  EXPECT_DOUBLE_EQ(rate_of(9), 2 / (100 * 3600.0));
}

TEST(Campaign, ReadsItsFile) {
  const std::string iteration = "iteration: {time: 20, devices: 16384}\n";
  EXPECT_EQ(complaint_of(iteration + "work: {days: 54}\nfailures: {device_mtbf: 50668}\n"
                                     "checkpoint: {size: 6 TB, bandwidth: 2 TB/s}\n"),
            "");
  EXPECT_NE(complaint_of("work: {days: 54}\n").find("needs time and devices"), std::string::npos);
  EXPECT_NE(complaint_of(iteration).find("either iterations or days"), std::string::npos);
  EXPECT_NE(complaint_of(iteration + "work: {days: 1}\ncheckpoint: {size: 6 TB}\n")
                .find("goes together with bandwidth"),
            std::string::npos);
  EXPECT_NE(complaint_of(iteration + "work: {days: 1}\nrestart: -1\n").find("restart"),
            std::string::npos);
  EXPECT_NE(complaint_of("run: none/such\nwork: {days: 1}\n")
                .find("c.yaml:1:1: error: run: there is no run in 'none/such'"),
            std::string::npos);
  EXPECT_EQ(complaint_of("run: none/such\niteration: {power: 5}\nwork: {days: 1}\n"),
            "c.yaml:1:1: error: run: there is no run in 'none/such': it has no summary.json");
  const std::string zero = complaint_of("iteration: {time: 0, devices: 8}\nwork: {days: 1}\n");
  EXPECT_EQ(zero.find("needs time"), std::string::npos) << zero;
}

// Checkpoints are written between iterations, some of which wait for a slow device.
TEST(Campaign, HasNoMoreCheckpointsThanIterations) {
  const std::string slow =
      "iteration: {time: 10, devices: 20}\nwork: {iterations: 100}\n"
      "stragglers: {share: 0.01, slowdown: 1.5}\n";
  EXPECT_NE(complaint_of(slow + "checkpoint: {interval: 10.5, cost: 1}\n")
                .find("4:14: error: checkpoint.interval: is shorter than an iteration, which takes "
                      "10.9"),
            std::string::npos);
  Campaign campaign;
  campaign.iteration_s = 10;
  campaign.devices = 20;
  campaign.iterations = 100;
  campaign.checkpoint_s = 1e-6;  // for which the best interval is short
  campaign.failures_per_s = 1e-3;
  campaign.straggler_share = 0.01;
  campaign.straggler_slowdown = 1.5;
  EXPECT_NEAR(outlook_of(campaign).interval_s, 10 * (1 + 0.5 * (1 - std::pow(0.99, 20))), 1e-9);
}

}  // namespace
}  // namespace tessera::explore::campaign_test
