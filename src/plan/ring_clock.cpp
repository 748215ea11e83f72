#include "ring_clock.hpp"

#include <algorithm>

namespace tessera::plan {

void RingLink::add(Bandwidth bandwidth, std::uint32_t messages) {
  const auto found = std::find_if(shared.begin(), shared.end(),
                                  [&](const auto& each) { return each.first == bandwidth; });
  if (found == shared.end()) {
    shared.emplace_back(bandwidth, messages);
  } else {
    found->second = std::max(found->second, messages);
  }
}

SimTime RingLink::on_links(Bytes bytes) const {
  SimTime longest;
  for (const auto& [bandwidth, messages] : shared) {
    longest = std::max(longest, serialization_time(bytes * messages, bandwidth));
  }
  return longest;
}

RingClock::RingClock(const std::vector<RingLink>& links, std::vector<Bytes> first)
    : links_(links),
      first_(std::move(first)),
      one_size_(std::all_of(first_.begin(), first_.end(),
                            [&](Bytes bytes) { return bytes == first_.front(); })) {}

SimTime RingClock::time(std::uint32_t steps) const {
  const std::size_t repeats = period();
  if (repeats == 1) {
    const Bytes largest = *std::max_element(first_.begin(), first_.end());
    return (links_.front().latency + links_.front().on_links(largest)) * std::int64_t{steps};
  }
  return follow(one_size_ ? repeats : links_.size(), steps);
}

// Members after which links repeat.
std::size_t RingClock::period() const {
  const std::size_t members = links_.size();
  for (std::size_t length = 1; length < members; ++length) {
    if (members % length == 0 && std::equal(links_.begin() + static_cast<std::ptrdiff_t>(length),
                                            links_.end(), links_.begin())) {
      return length;
    }
  }
  return members;
}

SimTime RingClock::follow(std::size_t members, std::uint32_t steps) const {
  // Chunks are of two sizes at most.
  const auto [least, most] = std::minmax_element(first_.begin(), first_.end());
  std::vector<SimTime> latency(members);
  std::vector<std::array<SimTime, 2>> on_links(members);
  for (std::size_t i = 0; i < members; ++i) {
    latency[i] = links_[i].latency;
    on_links[i] = {links_[i].on_links(*least), links_[i].on_links(*most)};
  }
  // By the place where a chunk is in the first step, twice, so that a step back is no wrap.
  std::vector<std::uint8_t> is_large(2 * members);
  for (std::size_t i = 0; i < is_large.size(); ++i) {
    is_large[i] = first_[i % members] == *most ? 1 : 0;
  }
  std::vector<SimTime> ready(members);  // when the steps so far are over
  std::vector<SimTime> free(members);   // when the way of the last message was free again
  std::size_t back = 0;                 // the step, modulo the members
  for (std::uint32_t step = 0; step < steps; ++step) {
    SimTime before = ready.back();
    for (std::size_t i = 0; i < members; ++i) {
      free[i] = std::max(free[i], before) + on_links[i][is_large[i + members - back]];
      before = ready[i];
      ready[i] = std::max(before, free[i] + latency[i]);
    }
    back = back + 1 == members ? 0 : back + 1;
  }
  return *std::max_element(ready.begin(), ready.end());
}

}  // namespace tessera::plan
