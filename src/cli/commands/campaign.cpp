#include <iomanip>
#include <iostream>
#include <sstream>

#include "file_kinds.hpp"
#include "tessera/cli/commands.hpp"
#include "tessera/cli/options.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/campaign.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::cli {
namespace {

using explore::Campaign;
using explore::CampaignResult;
using trace::JsonText;

Options campaign_options() {
  Options options("campaign",
                  "Predict what a training run of weeks takes: failures, checkpoints, restarts, "
                  "energy and cost. The file states what is known; for its keys see tessera list "
                  "campaign.",
                  "campaign", "CAMPAIGN.yaml");
  options.add_settings();
  options.add("json", "print one JSON object");
  return options;
}

Campaign read(const Options& options, comm::Communicator& world) {
  config::Diagnostics diagnostics;
  const std::string path = options.subject();
  config::Value root =
      config::parse(path, config::load_named(path, shared_loader(world)), diagnostics);
  for (const std::string& setting : options.settings()) {
    config::apply_override(root, setting, diagnostics);
  }
  config::Section section(root, "", diagnostics);
  section.declare([] { return sections_of_file("campaign"); });
  const Campaign campaign = explore::read_campaign(section);
  section.finish();
  diagnostics.throw_if_any();
  return campaign;
}

JsonText json_of(const Campaign& campaign, const CampaignResult& result) {
  JsonText json = JsonText::object()
                      .put("file_type", "tessera-campaign")
                      .put("format_version", "1.0")
                      .put("iteration_s", campaign.iteration_s)
                      .put("iterations", campaign.iterations)
                      .put("devices", campaign.devices)
                      .put("failures_per_s", campaign.failures_per_s)
                      .put("checkpoint_s", campaign.checkpoint_s)
                      .put("interval_s", result.interval_s)
                      .put("work_s", result.work_s)
                      .put("time_s", result.time_s)
                      .put("checkpoints_s", result.checkpoints_s)
                      .put("restarts_s", result.restarts_s)
                      .put("lost_s", result.lost_s)
                      .put("stragglers_s", result.stragglers_s)
                      .put("failures", result.failures)
                      .put("goodput", result.goodput)
                      .put("energy_kwh", result.energy_kwh)
                      .put("cost", result.cost)
                      .put("tokens", result.tokens);
  if (!result.drawn) {
    return json.put("drawn", JsonText::null());
  }
  return json.put("drawn", JsonText::object()
                               .put("trials", std::uint64_t{campaign.trials})
                               .put("mean_s", result.drawn->mean_s)
                               .put("standard_error_s", result.drawn->standard_error_s)
                               .put("p5_s", result.drawn->p5_s)
                               .put("p95_s", result.drawn->p95_s)
                               .put("failures", result.drawn->failures));
}

std::string decimals(double value, int digits) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

// "12.34 days (5.6 %)"
std::string days(double seconds, double whole) {
  constexpr double seconds_a_day = 86400;
  return decimals(seconds / seconds_a_day, 3) + " days" +
         (whole > 0 ? " (" + decimals(100 * seconds / whole, 2) + " %)" : "");
}

std::string table_of(const Campaign& campaign, const CampaignResult& result) {
  TextTable table({"of the campaign", "expected"});
  table.add({"time", days(result.time_s, 0)});
  table.add({"  work", days(result.work_s, result.time_s)});
  table.add({"  waits for stragglers", days(result.stragglers_s, result.time_s)});
  table.add({"  checkpoints", days(result.checkpoints_s, result.time_s)});
  table.add({"  lost and done again", days(result.lost_s, result.time_s)});
  table.add({"  restarts", days(result.restarts_s, result.time_s)});
  table.add({"failures", decimals(result.failures, 1)});
  table.add({"work between checkpoints",
             decimals(result.interval_s, 1) + " s" +
                 (campaign.checkpoint_s > 0 ? "" : ", as they cost nothing (checkpoint.cost)")});
  table.add({"goodput", decimals(100 * result.goodput, 2) + " %"});
  if (result.energy_kwh > 0) {
    table.add({"energy", decimals(result.energy_kwh, 1) + " kWh"});
  }
  if (result.cost > 0) {
    table.add({"cost", decimals(result.cost, 2)});
  }
  if (result.tokens > 0) {
    table.add({"tokens", decimals(result.tokens, 0)});
    if (result.energy_kwh > 0) {
      table.add({"energy of a million tokens",
                 decimals(1e6 * result.energy_kwh / result.tokens, 4) + " kWh"});
    }
    if (result.cost > 0) {
      table.add({"cost of a million tokens", decimals(1e6 * result.cost / result.tokens, 4)});
    }
  }
  if (result.drawn) {
    table.add(
        {"drawn " + std::to_string(campaign.trials) + " times: mean",
         days(result.drawn->mean_s, 0) +
             (campaign.trials > 1 ? " ± " + decimals(result.drawn->standard_error_s / 86400, 3)
                                  : "")});
    table.add({"  5 and 95 % of them",
               days(result.drawn->p5_s, 0) + ", " + days(result.drawn->p95_s, 0)});
  }
  return table.to_string();
}

int campaign_command(const Words& words, comm::Communicator& world) {
  Options options = campaign_options();
  if (!options.parse(words, world)) {
    return 0;
  }
  const Campaign campaign = read(options, world);
  const CampaignResult result = explore::outlook_of(campaign);
  if (world.rank() == 0) {
    std::cout << (options.flag("json") ? json_of(campaign, result).to_string()
                                       : table_of(campaign, result));
  }
  return 0;
}

const Registration campaign_registration(
    commands(),
    {"campaign", "predict what a training run of weeks takes, with failures and checkpoints", {}},
    Command{"campaign CAMPAIGN.yaml [options]", campaign_command});

}  // namespace
}  // namespace tessera::cli
