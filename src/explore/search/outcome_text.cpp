// What a search found, for people and programs.
#include <algorithm>
#include <cmath>

#include "tessera/core/text.hpp"
#include "tessera/explore/strategy_search.hpp"
#include "tessera/trace/json_text.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::explore {
namespace {

using trace::JsonText;

// The difference of an estimate, in percent of the simulated time.
std::string error_of(const Proposal& proposal) {
  const auto simulated = static_cast<double>(proposal.iteration.ps());
  const double error = 100 * (static_cast<double>(proposal.estimate.ps()) / simulated - 1);
  return (error >= 0 ? "+" : "") + format_number(std::round(error * 10) / 10) + " %";
}

std::string layout_of(const Proposal& proposal) {
  return proposal.candidate ? proposal.candidate->layout : proposal.layout;
}

// What is certain by the bounds alone.
std::string floor_of(const SearchOutcome& outcome) {
  std::string text;
  const auto best = static_cast<double>(outcome.proposals.front().iteration.ps());
  const auto least = static_cast<double>(outcome.least.ps());
  if (outcome.open == 0 && outcome.complete) {
    text = "no candidate is faster than the best, by simulation or by its bound\n";
  } else if (least > 0 && least < best) {
    text = "no candidate can be faster than " + to_string(outcome.least) + ", " +
           format_number(std::round(1000 * (1 - least / best)) / 10) + " % below the best\n";
  }
  if (outcome.violated > 0) {
    text += std::to_string(outcome.violated) +
            " simulations were shorter than their bounds, which are none here\n";
  }
  return text;
}

std::string counts_of(const SearchOutcome& outcome) {
  std::string text = std::to_string(outcome.candidates) +
                     " candidates: " + std::to_string(outcome.impossible) + " have no place, " +
                     std::to_string(outcome.too_large) + " are too large for the memory, " +
                     std::to_string(outcome.fitting) + " fit\n";
  const std::size_t simulated = outcome.proposals.size();
  if (simulated > 0) {
    text +=
        std::to_string(simulated) + " simulated" +
        (outcome.by_stages() ? " (one tile for each stage)" : "") + "; " +
        std::to_string(outcome.bounded) + " cannot be faster by their lower bounds, " +
        std::to_string(outcome.open) +
        (!outcome.complete   ? " were left when it was stopped"
         : outcome.exhausted ? " by their estimates"
                             : " were left (more: --top)") +
        (outcome.margin > 0 && outcome.open > 0
             ? ", with a margin of " + format_number(std::round(outcome.margin * 1000) / 10) + " %"
             : "") +
        "\n";
    text += floor_of(outcome);
  }
  return text;
}

const char* name_of(plan::Aggregation aggregation) {
  return aggregation == plan::Aggregation::stage    ? "stage"
         : aggregation == plan::Aggregation::tensor ? "tensor"
                                                    : "none";
}

JsonText json_of(const Proposal& proposal, const KeptPlacement& placement) {
  JsonText json = JsonText::object();
  json.put("strategy", proposal.title())
      .put("layout", layout_of(proposal))
      .put("own", !proposal.candidate.has_value())
      .put("status", proposal.status)
      .put("bound_ps", proposal.bound.ps())
      .put("estimate_ps", proposal.estimate.ps())
      .put("iteration_time_ps", proposal.iteration.ps())
      .put("throughput_samples_per_s", proposal.throughput)
      .put("memory_per_tile_bytes", proposal.memory.count());
  if (proposal.candidate) {
    json.put("settings", JsonText::list(proposal.candidate->settings(placement)));
  }
  return json;
}

JsonText json_of(const Advice& advice) {
  JsonText json = JsonText::object();
  json.put("about", advice.about)
      .put("where", advice.where)
      .put("remedies", JsonText::list(advice.remedies));
  return json;
}

}  // namespace

std::string Proposal::title() const {
  return candidate ? candidate->title() : "the experiment's own strategy";
}

std::string SearchOutcome::how_far() const {
  const auto simulated =
      std::count_if(proposals.begin(), proposals.end(),
                    [](const Proposal& proposal) { return proposal.candidate.has_value(); });
  return std::to_string(simulated) + " of " + std::to_string(fitting) +
         " candidates that fit were simulated, " + std::to_string(open) + " others may be faster";
}

std::string to_text(const Advice& advice) {
  std::string text = advice.about + "\n" + (advice.where.empty() ? "" : "  " + advice.where + "\n");
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
  text += (outcome.proposals.empty() ? "" : table.to_string()) +
          failure_table("fallen out", outcome.fallen_out);
  for (const std::string& note : trace::notes_for_people(outcome.notes)) {
    text += "note: " + note + "\n";
  }
  return text;
}

std::string to_json(const SearchOutcome& outcome) {
  JsonText proposals = JsonText::list();
  for (const Proposal& proposal : outcome.proposals) {
    proposals.add(json_of(proposal, outcome.placement));
  }
  JsonText json = JsonText::object();
  json.put("file_type", "tessera-plan")
      .put("format_version", "1.1")
      .put("experiment", outcome.experiment)
      .put("machine", outcome.machine)
      .put("workload", outcome.workload)
      .put("devices", outcome.devices)
      .put("candidates", outcome.candidates)
      .put("impossible", outcome.impossible)
      .put("too_large", outcome.too_large)
      .put("fitting", outcome.fitting)
      .put("bounded", outcome.bounded)
      .put("open", outcome.open)
      .put("least_ps", outcome.least.ps())
      .put("violated", outcome.violated)
      .put("margin", outcome.margin)
      .put("simulated_with_aggregation", name_of(outcome.aggregation))
      .put("complete", outcome.complete)
      .put("left", outcome.left())
      .put("exhausted", outcome.exhausted)
      .put("proposals", proposals)
      .put("notes", JsonText::list(outcome.notes));
  if (outcome.advice) {
    json.put("advice", json_of(*outcome.advice));
  }
  return json.to_string();
}

}  // namespace tessera::explore
