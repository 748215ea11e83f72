#include "search/proposal_line.hpp"

#include <algorithm>
#include <charconv>

#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

constexpr char separator = '\t';
constexpr std::size_t fields = 11;
constexpr const char* end_of_line = ".";

std::string on_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == separator; }, ' ');
  return text;
}

template <class Number>
Number number_from(const std::string& text) {
  Number number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) {
    throw ConfigError("'" + text + "' is no number");
  }
  return number;
}

plan::Recompute recompute_from(const std::string& name) {
  for (const plan::Recompute each : {plan::Recompute::selective, plan::Recompute::full}) {
    if (name_of(each) == name) {
      return each;
    }
  }
  return plan::Recompute::none;
}

Candidate candidate_from(const std::string& key) {
  const std::vector<std::string> parts = split(key, '/');
  if (parts.size() != 15) {
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
  candidate.recompute = recompute_from(parts[9]);
  candidate.zero = count(10);
  candidate.shard = count(11);
  candidate.overlap_gradients = parts[12] == "true";
  candidate.overlap_tensor = parts[13] == "true";
  candidate.layout = parts[14];
  return candidate;
}

}  // namespace

std::vector<std::string> split(const std::string& text, char between) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string to_line(const Proposal& proposal) {
  return join(
      std::vector<std::string>{
          proposal.candidate ? proposal.candidate->key() : "", proposal.layout, proposal.status,
          on_one_line(proposal.message), std::to_string(proposal.bound.ps()),
          std::to_string(proposal.estimate.ps()), std::to_string(proposal.iteration.ps()),
          format_number(proposal.throughput), std::to_string(proposal.memory.count()),
          proposal.tiles, end_of_line},
      std::string(1, separator));
}

Proposal proposal_from(const std::string& line) {
  const std::vector<std::string> parts = split(line, separator);
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
  return proposal;
}

}  // namespace tessera::explore
