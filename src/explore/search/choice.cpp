#include "search/choice.hpp"

#include <algorithm>
#include <limits>

namespace tessera::explore {
namespace {

constexpr double most_margin = 0.25;
constexpr std::size_t most_of_group = 2;  // at a time

std::string group_of(const Candidate& candidate) {
  return std::to_string(candidate.degrees.pipeline) + "/" +
         std::to_string(candidate.degrees.tensor) + "/" + std::to_string(candidate.degrees.data) +
         "/" + std::to_string(candidate.context) + "/" + candidate.layout +
         (candidate.is_v_shaped() ? "/V" : "");
}

}  // namespace

Choice::Choice(const std::vector<Ranked>& ranked, double least_margin)
    : ranked_(ranked),
      done_(ranked.size()),
      margin_(least_margin),
      best_(std::numeric_limits<double>::infinity()) {
  for (const Ranked& each : ranked) {
    groups_.push_back(group_of(each.candidate));
    kinds_.push_back(groups_.back() + "/" + each.candidate.schedule +
                     (each.candidate.overlap_passes ? "/turns" : "") +
                     (each.candidate.async_tensor ? "/pieces" : ""));
    loads_.push_back(groups_.back() + "/" + each.candidate.schedule + "/" +
                     std::to_string(each.candidate.micro_batch));
  }
}

double Choice::corrected(std::size_t number) const {
  const double estimate = ranked_[number].iteration.likely;
  const auto seen = seen_.find(kinds_[number]);
  if (seen != seen_.end()) {
    return estimate * seen->second.sum / seen->second.count;
  }
  const auto least = least_ratio_.find(ranked_[number].candidate.layout);
  return least == least_ratio_.end() ? estimate : estimate * std::min(1.0, least->second);
}

double Choice::expected(std::size_t number) const {
  return std::max(corrected(number), ranked_[number].iteration.least);
}

bool Choice::may_win(std::size_t number, double margin) const {
  return !done_[number] && ranked_[number].iteration.least < best_ &&
         corrected(number) * (1 - margin) < best_;
}

std::vector<std::size_t> Choice::next(std::size_t most) const {
  return next_with(most, margin_);
}

std::vector<std::size_t> Choice::next_by_bounds(std::size_t most) const {
  return next_with(most, 1);
}

std::vector<std::size_t> Choice::next_with(std::size_t most, double margin) const {
  std::vector<std::pair<double, std::size_t>> promising;
  for (std::size_t number = 0; number < ranked_.size(); ++number) {
    if (may_win(number, margin)) {
      promising.emplace_back(expected(number), number);
    }
  }
  std::sort(promising.begin(), promising.end());
  std::vector<std::size_t> chosen;
  std::map<std::string, std::size_t> of_group;
  for (const auto& [time, number] : promising) {
    if (chosen.size() < most && of_group[groups_[number]] < most_of_group) {
      ++of_group[groups_[number]];
      chosen.push_back(number);
    }
  }
  return chosen;
}

std::vector<std::size_t> Choice::next_of_large(std::size_t most) const {
  std::vector<std::size_t> chosen = next(most);
  if (!chosen.empty()) {
    const double best = std::min(best_, expected(chosen.front()) * (1 + margin_));
    std::erase_if(chosen,
                  [&](std::size_t number) { return ranked_[number].iteration.least > best; });
  }
  return chosen;
}

void Choice::learn(std::size_t number, SimTime iteration, bool repeats) {
  done_[number] = true;
  if (iteration.is_never()) {
    return;
  }
  if (!repeats) {
    unlike_.insert(loads_[number]);
  }
  const auto time = static_cast<double>(iteration.ps());
  if (least_ratio_.contains(ranked_[number].candidate.layout)) {
    margin_ = std::clamp(1 - time / corrected(number), margin_, most_margin);
  }
  const double ratio = time / std::max(1.0, ranked_[number].iteration.likely);
  Seen& seen = seen_[kinds_[number]];
  seen.sum += ratio;
  ++seen.count;
  const auto [least, fresh] = least_ratio_.try_emplace(ranked_[number].candidate.layout, ratio);
  least->second = std::min(least->second, ratio);
  best_ = std::min(best_, time);
}

void Choice::beat(SimTime iteration) {
  best_ = std::min(best_, static_cast<double>(iteration.ps()));
}

std::uint64_t Choice::bounded() const {
  std::uint64_t count = 0;
  for (std::size_t number = 0; number < ranked_.size(); ++number) {
    count += !done_[number] && ranked_[number].iteration.least >= best_ ? 1 : 0;
  }
  return count;
}

std::uint64_t Choice::open() const {
  std::uint64_t count = 0;
  for (std::size_t number = 0; number < ranked_.size(); ++number) {
    count += !done_[number] && ranked_[number].iteration.least < best_ ? 1 : 0;
  }
  return count;
}

double Choice::least() const {
  double least = best_;
  for (std::size_t number = 0; number < ranked_.size(); ++number) {
    least = done_[number] ? least : std::min(least, ranked_[number].iteration.least);
  }
  return least;
}

}  // namespace tessera::explore
