#include "search/ranking.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

#include "search/proposal_line.hpp"
#include "spread.hpp"
#include "sweep/line_fields.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::explore {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

bool is_faster(const Ranked& a, const Ranked& b) {
  return a.iteration.likely < b.iteration.likely;
}

// Those of one block of degrees.
class Block {
 public:
  Block(const CandidateLimits& limits, Forecaster& forecaster, std::size_t kept)
      : limits_(limits), forecaster_(forecaster), kept_(kept) {
    ranking_.least_of_left_out = none;
  }

  Ranking run(const DegreesOfCandidates& degrees) {
    visit_candidates(limits_, degrees, [&](const Candidate& candidate) { take(candidate); });
    cut();
    return std::move(ranking_);
  }

 private:
  void take(const Candidate& candidate) {
    ++ranking_.all;
    const Forecast forecast = forecaster_.of(candidate);
    if (!forecast.placed) {
      ++ranking_.unplaced;
      ranking_.objection = forecast.objection;
      return;
    }
    if (!forecast.fits()) {
      ++ranking_.too_large;
      const double share = forecast.need.share();
      if (!ranking_.nearest || share < ranking_.nearest->share) {
        ranking_.nearest = {candidate, share};
      }
      return;
    }
    ranking_.fastest.push_back({candidate, forecast.iteration, forecast.memory, forecast.events});
    if (ranking_.fastest.size() / 4 >= kept_) {
      cut();
    }
  }

  // Of equally fast ones the first is kept.
  void cut() {
    std::stable_sort(ranking_.fastest.begin(), ranking_.fastest.end(), is_faster);
    while (ranking_.fastest.size() > kept_) {
      ++ranking_.left_out;
      ranking_.least_of_left_out =
          std::min(ranking_.least_of_left_out, ranking_.fastest.back().iteration.least);
      ranking_.fastest.pop_back();
    }
  }

  const CandidateLimits& limits_;
  Forecaster& forecaster_;
  std::size_t kept_;
  Ranking ranking_;
};

std::string plain(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '|' || c == ';' || c == '\n'; }, ',');
  return text;
}

// As one line, its parts apart by '|' and fields by ';'.
std::string to_line(const Ranking& ranking) {
  std::string text = join(
      std::vector<std::string>{std::to_string(ranking.all), std::to_string(ranking.unplaced),
                               std::to_string(ranking.too_large), std::to_string(ranking.left_out),
                               format_number(std::min(ranking.least_of_left_out, 1e300)),
                               plain(ranking.objection)},
      ";");
  text += "|";
  if (ranking.nearest) {
    text += ranking.nearest->candidate.key() + ";" + format_number(ranking.nearest->share);
  }
  for (const Ranked& each : ranking.fastest) {
    text += "|" +
            join(std::vector<std::string>{each.candidate.key(), format_number(each.iteration.least),
                                          format_number(each.iteration.likely),
                                          std::to_string(each.memory.count()),
                                          format_number(each.events)},
                 ";");
  }
  return text;
}

double real(const std::string& text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Candidate candidate_of(const std::string& key) {
  return *proposal_from(key + "\t\t\t\t0\t0\t0\t0\t0\t\t.").candidate;
}

void add_line(const std::string& line, Ranking& all) {
  const std::vector<std::string> parts = split(line, '|');
  const std::vector<std::string> head = split(parts[0], ';');
  if (head.size() < 6) {
    all.stopped = true;
    return;
  }
  ++all.looked_at;
  all.all += std::stoull(head[0]);
  all.unplaced += std::stoull(head[1]);
  all.too_large += std::stoull(head[2]);
  all.left_out += std::stoull(head[3]);
  all.least_of_left_out = std::min(all.least_of_left_out, real(head[4]));
  all.objection = all.objection.empty() ? head[5] : all.objection;
  if (!parts[1].empty()) {
    const std::vector<std::string> nearest = split(parts[1], ';');
    const double share = real(nearest[1]);
    if (!all.nearest || share < all.nearest->share) {
      all.nearest = {candidate_of(nearest[0]), share};
    }
  }
  for (std::size_t part = 2; part < parts.size(); ++part) {
    const std::vector<std::string> fields = split(parts[part], ';');
    all.fastest.push_back({candidate_of(fields[0]),
                           {real(fields[1]), real(fields[2])},
                           Bytes(std::stoull(fields[3])),
                           real(fields[4])});
  }
}

}  // namespace

Proposal proposal_of(const Ranked& ranked) {
  Proposal proposal;
  proposal.candidate = ranked.candidate;
  proposal.bound = time_of(ranked.iteration.least);
  proposal.estimate = time_of(ranked.iteration.likely);
  proposal.memory = ranked.memory;
  return proposal;
}

double events_of(const Ranked& ranked, std::uint64_t batch) {
  const Candidate& candidate = ranked.candidate;
  const double count = static_cast<double>(batch) /
                       (static_cast<double>(candidate.degrees.data) * candidate.micro_batch);
  const double replayed = 3.0 * (candidate.degrees.pipeline * candidate.chunks + 4.0);
  return ranked.events * std::min(1.0, replayed / count);
}

SimTime estimate_of(const Candidate& candidate, Forecaster& forecaster) {
  try {
    return time_of(forecaster.of(candidate).iteration.likely);
  } catch (const Error&) {
    return SimTime::zero();
  }
}

std::string note_of_estimates(const Ranking& ranking) {
  const Ranked& best = ranking.fastest.front();
  return "the search was stopped before anything was simulated, when " +
         std::to_string(ranking.looked_at) + " of " + std::to_string(ranking.degrees) +
         " combinations of degrees had been looked at; the best estimate among them, which no "
         "simulation confirms, is " +
         to_string(time_of(best.iteration.likely)) +
         " for an iteration: " + proposal_of(best).title() + ", " + best.candidate.layout +
         " (all estimates are in candidates.csv)";
}

Ranking rank_candidates(const CandidateLimits& limits,
                        const std::vector<DegreesOfCandidates>& blocks, Forecaster& forecaster,
                        std::size_t kept, comm::Communicator& communicator,
                        const std::function<bool()>& stop_requested,
                        const std::function<void(std::size_t, std::size_t)>& on_part) {
  const std::vector<std::string> lines =
      spread(communicator, blocks.size(), [&](std::size_t number) -> std::string {
        if (stop_requested && stop_requested()) {
          return "";
        }
        on_part(number, blocks.size());
        return to_line(Block(limits, forecaster, kept).run(blocks[number]));
      });
  Ranking all;
  all.degrees = blocks.size();
  all.least_of_left_out = none;
  for (const std::string& line : lines) {
    add_line(line, all);
  }
  std::stable_sort(all.fastest.begin(), all.fastest.end(), is_faster);
  return all;
}

}  // namespace tessera::explore
