// What a search found, for people and programs.
#include <algorithm>
#include <cmath>

#include "search/json.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/strategy_search.hpp"

namespace tessera::explore {
namespace {

// The difference of an estimate, in percent of the simulated time.
std::string error_of(const Proposal& proposal) {
  const auto simulated = static_cast<double>(proposal.iteration.ps());
  const double error = 100 * (static_cast<double>(proposal.estimate.ps()) / simulated - 1);
  return (error >= 0 ? "+" : "") + format_number(std::round(error * 10) / 10) + " %";
}

std::string layout_of(const Proposal& proposal) {
  return proposal.candidate ? proposal.candidate->layout : proposal.layout;
}

std::string counts_of(const SearchOutcome& outcome) {
  std::string text = std::to_string(outcome.candidates) +
                     " candidates: " + std::to_string(outcome.impossible) + " have no place, " +
                     std::to_string(outcome.too_large) + " are too large for the memory, " +
                     std::to_string(outcome.fitting) + " fit\n";
  const std::size_t simulated = outcome.proposals.size();
  if (simulated > 0) {
    text += std::to_string(simulated) + " simulated" +
            (outcome.by_stages ? " (one tile for each stage)" : "") + "; " +
            std::to_string(outcome.bounded) + " cannot be faster by their lower bounds, " +
            std::to_string(outcome.open) +
            (outcome.exhausted ? " by their estimates, which were off by up to "
                               : " were left (--top); estimates were off by up to ") +
            format_number(std::round(outcome.margin * 1000) / 10) + " %\n";
  }
  return text;
}

JsonObject json_of(const Proposal& proposal) {
  JsonObject json;
  json.text("strategy", proposal.title())
      .text("layout", layout_of(proposal))
      .truth("own", !proposal.candidate)
      .text("status", proposal.status)
      .count("bound_ps", static_cast<std::uint64_t>(proposal.bound.ps()))
      .count("estimate_ps", static_cast<std::uint64_t>(proposal.estimate.ps()))
      .count("iteration_time_ps", static_cast<std::uint64_t>(proposal.iteration.ps()))
      .number("throughput_samples_per_s", proposal.throughput)
      .count("memory_per_tile_bytes", proposal.memory.count());
  if (proposal.candidate) {
    json.texts("settings", proposal.candidate->settings());
  }
  return json;
}

}  // namespace

std::string Proposal::title() const {
  return candidate ? candidate->title() : "the experiment's own strategy";
}

std::string to_text(const Advice& advice) {
  std::string text = "nearest to fit: " + advice.nearest + "\n  " + advice.where + "\n";
  for (const std::string& each : advice.remedies) {
    text += "  " + each + "\n";
  }
  return text;
}

std::string to_table(const SearchOutcome& outcome) {
  std::string text = outcome.workload + " on " + std::to_string(outcome.devices) + " devices of " +
                     outcome.machine + "\n" + counts_of(outcome);
  TextTable table(
      {"", "strategy", "layout", "iteration", "samples/s", "estimate", "error", "memory a tile"});
  constexpr std::size_t most_rows = 20;
  std::size_t place = 0;
  for (const Proposal& proposal : outcome.proposals) {
    place += proposal.candidate ? 1 : 0;
    if (proposal.candidate && place > most_rows) {
      continue;
    }
    table.add({proposal.candidate ? std::to_string(place) : "own",
               proposal.candidate ? proposal.title() : "", layout_of(proposal),
               to_string(proposal.iteration),
               format_number(std::round(proposal.throughput * 100) / 100),
               to_string(proposal.estimate), error_of(proposal), to_short_string(proposal.memory)});
  }
  return text + (outcome.proposals.empty() ? "" : table.to_string()) +
         failure_table("fallen out", outcome.fallen_out);
}

std::string to_json(const SearchOutcome& outcome) {
  JsonObject json;
  json.text("experiment", outcome.experiment)
      .text("machine", outcome.machine)
      .text("workload", outcome.workload)
      .count("devices", outcome.devices)
      .count("candidates", outcome.candidates)
      .count("impossible", outcome.impossible)
      .count("too_large", outcome.too_large)
      .count("fitting", outcome.fitting)
      .count("bounded", outcome.bounded)
      .count("open", outcome.open)
      .number("margin", outcome.margin)
      .text("simulated_with_aggregation", outcome.by_stages ? "stage" : "none")
      .truth("complete", outcome.complete)
      .truth("exhausted", outcome.exhausted);
  std::vector<JsonObject> proposals;
  for (const Proposal& proposal : outcome.proposals) {
    proposals.push_back(json_of(proposal));
  }
  json.objects("proposals", proposals);
  if (outcome.advice) {
    json.object("advice", JsonObject()
                              .text("nearest", outcome.advice->nearest)
                              .text("where", outcome.advice->where)
                              .texts("remedies", outcome.advice->remedies));
  }
  return json.to_string() + "\n";
}

}  // namespace tessera::explore
