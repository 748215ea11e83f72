#include "search/proposal_line.hpp"

#include "sweep/line_fields.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

constexpr std::size_t fields = 12;
constexpr const char* end_of_line = ".";

Candidate candidate_from(const std::string& key) {
  std::vector<std::string> parts = split(key, '/');
  if (parts.size() == 16) {  // of searches before `async_tensor` was varied
    parts.insert(parts.begin() + 14, "false");
  }
  if (parts.size() != 17) {
    throw ConfigError("'" + key + "' is no candidate");
  }
  const auto count = [&](std::size_t part) { return number_from<std::uint32_t>(parts[part]); };
  Candidate candidate;
  candidate.degrees = {count(0), count(2), count(1)};
  candidate.context = count(3);
  candidate.expert = count(4);
  candidate.sequence_parallel = parts[5] == "true";
  candidate.micro_batch = count(6);
  candidate.chunks = count(7);
  candidate.schedule = parts[8];
  candidate.recompute = recompute_named(parts[9]);
  candidate.zero = count(10);
  candidate.shard = count(11);
  candidate.overlap_gradients = parts[12] == "true";
  candidate.overlap_tensor = parts[13] == "true";
  candidate.async_tensor = parts[14] == "true";
  candidate.overlap_passes = parts[15] == "true";
  candidate.layout = parts[16];
  return candidate;
}

}  // namespace

std::string to_line(const Proposal& proposal) {
  return join(
      std::vector<std::string>{
          proposal.candidate ? proposal.candidate->key() : "", proposal.layout, proposal.status,
          as_field(proposal.message), std::to_string(proposal.bound.ps()),
          std::to_string(proposal.estimate.ps()), std::to_string(proposal.iteration.ps()),
          format_number(proposal.throughput), std::to_string(proposal.memory.count()),
          proposal.tiles, proposal.repeats ? "true" : "false", end_of_line},
      std::string(1, field_separator));
}

Proposal proposal_from(const std::string& line) {
  std::vector<std::string> parts = split(line, field_separator);
  if (parts.size() == fields - 1) {  // of searches before `repeats` was kept
    parts.insert(parts.end() - 1, "true");
  }
  if (parts.size() != fields || parts.back() != end_of_line) {
    throw ConfigError("a line that is no proposal");
  }
  Proposal proposal;
  if (!parts[0].empty()) {
    proposal.candidate = candidate_from(parts[0]);
  }
  proposal.layout = parts[1];
  proposal.status = parts[2];
  proposal.message = parts[3];
  proposal.bound = SimTime::from_ps(number_from<std::int64_t>(parts[4]));
  proposal.estimate = SimTime::from_ps(number_from<std::int64_t>(parts[5]));
  proposal.iteration = SimTime::from_ps(number_from<std::int64_t>(parts[6]));
  proposal.throughput = number_from<double>(parts[7]);
  proposal.memory = Bytes(number_from<std::uint64_t>(parts[8]));
  proposal.tiles = parts[9];
  proposal.repeats = parts[10] == "true";
  return proposal;
}

}  // namespace tessera::explore
