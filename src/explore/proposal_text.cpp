#include "proposal_text.hpp"

#include <algorithm>
#include <cmath>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

constexpr char separator = '\t';

std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == separator; }, ' ');
  return text;
}

// The difference of an estimate, in percent of the simulated time.
std::string error_of(const Proposal& proposal) {
  const auto simulated = static_cast<double>(proposal.iteration.ps());
  const double error = 100 * (static_cast<double>(proposal.estimate.ps()) / simulated - 1);
  return (error >= 0 ? "+" : "") + format_number(std::round(error * 10) / 10) + " %";
}

}  // namespace

std::string to_line(const Proposal& proposal) {
  return join(
      std::vector<std::string>{
          proposal.layout, proposal.status, on_one_line(proposal.message),
          std::to_string(proposal.estimate.ps()), std::to_string(proposal.iteration.ps()),
          format_number(proposal.throughput), std::to_string(proposal.memory.count())},
      std::string(1, separator));
}

Proposal proposal_from(const std::string& line) {
  std::vector<std::string> fields;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    fields.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  ensure(fields.size() == 7, "a proposal of seven fields");
  Proposal proposal;
  proposal.layout = fields[0];
  proposal.status = fields[1];
  proposal.message = fields[2];
  proposal.estimate = SimTime::from_ps(std::stoll(fields[3]));
  proposal.iteration = SimTime::from_ps(std::stoll(fields[4]));
  std::string problem;
  proposal.throughput = config::parse_as<double>(fields[5], problem).value_or(0);
  proposal.memory = Bytes(std::stoull(fields[6]));
  return proposal;
}

std::string Proposal::title() const {
  if (!candidate) {
    return "the experiment's own strategy";
  }
  return "pipeline " + std::to_string(candidate->degrees.pipeline) + ", tensor " +
         std::to_string(candidate->degrees.tensor) + ", data " +
         std::to_string(candidate->degrees.data) + ", micro-batch " +
         std::to_string(candidate->micro_batch) + ", " + candidate->schedule + ", recompute " +
         candidate->recompute;
}

std::string to_table(const SearchOutcome& outcome) {
  std::string text = outcome.workload + " on " + std::to_string(outcome.devices) + " devices of " +
                     outcome.machine + ": " + std::to_string(outcome.candidates) + " candidates, " +
                     std::to_string(outcome.estimated) + " fit\n";
  TextTable table({"", "pipeline", "tensor", "data", "micro-batch", "schedule", "recompute",
                   "layout", "iteration", "samples/s", "estimate", "error", "memory a tile"});
  std::size_t place = 0;
  for (const Proposal& proposal : outcome.proposals) {
    std::vector<std::string> cells;
    if (proposal.candidate) {
      const Candidate& candidate = *proposal.candidate;
      cells = {std::to_string(++place),
               std::to_string(candidate.degrees.pipeline),
               std::to_string(candidate.degrees.tensor),
               std::to_string(candidate.degrees.data),
               std::to_string(candidate.micro_batch),
               candidate.schedule,
               candidate.recompute,
               proposal.layout};
    } else {
      cells = {"own", "", "", "", "", "", "", proposal.layout};
    }
    cells.insert(
        cells.end(),
        {to_string(proposal.iteration), format_number(std::round(proposal.throughput * 100) / 100),
         to_string(proposal.estimate), error_of(proposal), to_short_string(proposal.memory)});
    table.add(std::move(cells));
  }
  return text + (outcome.proposals.empty() ? "" : table.to_string()) +
         failure_table("fallen out", outcome.fallen_out);
}

}  // namespace tessera::explore
