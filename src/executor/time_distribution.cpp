#include "tessera/executor/time_distribution.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tessera::executor {
namespace {

constexpr unsigned span_bits = 10;  // spans of an octave: 2^10

// Times below 2^10 ps have a span each.
std::size_t span_of(std::uint64_t ps) {
  const auto width = static_cast<unsigned>(std::bit_width(ps));
  if (width <= span_bits) {
    return static_cast<std::size_t>(ps);
  }
  const unsigned shift = width - span_bits - 1;
  return (std::size_t{shift} << span_bits) + static_cast<std::size_t>(ps >> shift);
}

std::uint64_t middle_of(std::size_t span) {
  const std::size_t octave = span >> span_bits;
  if (octave < 2) {
    return span;
  }
  const auto shift = static_cast<unsigned>(octave - 1);
  const std::uint64_t low = (std::uint64_t{span} - (std::uint64_t{shift} << span_bits)) << shift;
  return low + (std::uint64_t{1} << shift) / 2;
}

std::uint64_t rank_of(std::uint64_t count, std::uint32_t percent) {
  return static_cast<std::uint64_t>((Wide{count} * percent + 99) / 100);
}

}  // namespace

void TimeDistribution::add(std::uint64_t ps) {
  ++count_;
  sum_ += ps;
  most_ = std::max(most_, ps);
  // Before the list would grow to twice as much.
  if (spans_.empty() && exact_.size() >= most_exact_) {
    count_exact();
    count_span(ps);
  } else if (spans_.empty()) {
    exact_.push_back(ps);
  } else {
    count_span(ps);
  }
}

std::size_t TimeDistribution::predicted_bytes(std::uint64_t count, std::size_t most) {
  constexpr std::size_t octaves = 10;
  const std::uint64_t kept = std::min<std::uint64_t>(count, most);
  const std::size_t exact = kept == 0 ? 0 : std::bit_ceil(kept);
  const std::size_t spans = count > most ? octaves << span_bits : 0;
  return std::max(exact, spans) * sizeof(std::uint64_t);
}

void TimeDistribution::add_all(const TimeDistribution& other) {
  if (other.is_exact()) {
    for (const std::uint64_t ps : other.exact_) {
      add(ps);
    }
    return;
  }
  count_exact();
  reach(other.first_span_, other.first_span_ + other.spans_.size());
  for (std::size_t place = 0; place < other.spans_.size(); ++place) {
    spans_[other.first_span_ + place - first_span_] += other.spans_[place];
  }
  count_ += other.count_;
  sum_ += other.sum_;
  most_ = std::max(most_, other.most_);
}

void TimeDistribution::count_exact() {
  if (!exact_.empty()) {
    const auto [least, largest] = std::minmax_element(exact_.begin(), exact_.end());
    reach(span_of(*least), span_of(*largest) + 1);
  }
  for (const std::uint64_t one : exact_) {
    count_span(one);
  }
  std::vector<std::uint64_t>().swap(exact_);  // `= {}` would keep its room
}

void TimeDistribution::count_span(std::uint64_t ps) {
  const std::size_t span = span_of(ps);
  reach(span, span + 1);
  ++spans_[span - first_span_];
}

void TimeDistribution::reach(std::size_t first, std::size_t end) {
  const std::size_t old_end = first_span_ + spans_.size();
  if (!spans_.empty() && first_span_ <= first && end <= old_end) {
    return;
  }
  const std::size_t begin = spans_.empty() ? first : std::min(first, first_span_);
  std::vector<std::uint64_t> wider(std::max(end, spans_.empty() ? end : old_end) - begin);
  std::copy(spans_.begin(), spans_.end(),
            wider.begin() + static_cast<std::ptrdiff_t>(spans_.empty() ? 0 : first_span_ - begin));
  spans_ = std::move(wider);
  first_span_ = begin;
}

std::uint64_t TimeDistribution::mean() const {
  return count_ == 0 ? 0 : static_cast<std::uint64_t>(sum_ / count_);
}

std::vector<std::uint64_t> TimeDistribution::percentiles(
    const std::vector<std::uint32_t>& percents) const {
  std::vector<std::uint64_t> found;
  if (count_ == 0) {
    found.resize(percents.size());
    return found;
  }
  if (is_exact()) {
    std::vector<std::uint64_t> sorted = exact_;
    std::sort(sorted.begin(), sorted.end());
    for (const std::uint32_t percent : percents) {
      found.push_back(sorted[rank_of(count_, percent) - 1]);
    }
    return found;
  }
  for (const std::uint32_t percent : percents) {
    const std::uint64_t rank = rank_of(count_, percent);
    std::uint64_t below = 0;
    std::size_t span = 0;
    while (below + spans_[span] < rank) {
      below += spans_[span++];
    }
    found.push_back(std::min(middle_of(first_span_ + span), most_));
  }
  return found;
}

void TimeDistribution::save(pdes::StateWriter& writer) const {
  writer.put(count_);
  writer.put(most_);
  writer.put(sum_);
  writer.put_all(exact_);
  writer.put_all(spans_);
  if (!is_exact()) {
    writer.put(std::uint64_t{first_span_});
  }
}

void TimeDistribution::restore(pdes::StateReader& reader) {
  count_ = reader.get<std::uint64_t>();
  most_ = reader.get<std::uint64_t>();
  sum_ = reader.get<Wide>();
  exact_ = reader.get_all<std::uint64_t>();
  spans_ = reader.get_all<std::uint64_t>();
  first_span_ = is_exact() ? 0 : reader.get<std::uint64_t>();
}

}  // namespace tessera::executor
