#include "chrome/tracks.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace tessera::trace {
namespace {

constexpr std::array<std::string_view, 6> lane_names{"compute", "communication", "memory",
                                                     "idle",    "other",         "messages"};
constexpr std::uint64_t lanes = lane_names.size();

// Processes count from 1, as 0 means the idle process to some viewers: the stages (of tenants in
// turn), then what has no
// stage, then the machine.
std::uint64_t process_without_stage(const RunMap& map) {
  return map.groups().size() + 1;
}

std::uint64_t machine_process(const RunMap& map) {
  return process_without_stage(map) + 1;
}

std::uint64_t own_thread(std::uint32_t tile, Lane lane) {
  return tile * lanes + static_cast<std::uint64_t>(lane) + 1;
}

}  // namespace

Lane lane_of(std::string_view activity) {
  if (activity == "compute") {
    return Lane::compute;
  }
  constexpr std::array<std::string_view, 7> communication{
      "tensor", "data", "context", "expert", "pipeline", "collective", "message"};
  if (std::find(communication.begin(), communication.end(), activity) != communication.end()) {
    return Lane::communication;
  }
  if (activity == "memory") {
    return Lane::memory;
  }
  return activity == "bubble" ? Lane::idle : Lane::other;
}

std::uint64_t TileTracks::process_of(const RunMap::Group& group) {
  const std::vector<RunMap::Group>& groups = map_.groups();
  const auto found = std::lower_bound(groups.begin(), groups.end(), group);
  const bool known = found != groups.end() && *found == group;
  const std::uint64_t process =
      known ? static_cast<std::uint64_t>(found - groups.begin()) + 1 : process_without_stage(map_);
  if (named_processes_.insert(process).second) {
    const std::string tenant =
        group.tenant < 0 ? "" : map_.tenants.plain(static_cast<std::uint32_t>(group.tenant)) + "/";
    const std::string name = tenant + "stage " + std::to_string(group.stage);
    writer_.name_process(process, known ? name : "no stage", process);
  }
  return process;
}

bool DisjointSpans::add(std::int64_t begin_ps, std::int64_t end_ps) {
  if (begin_ps == end_ps) {
    return true;
  }
  auto next = ends_.lower_bound(begin_ps);
  if (next != ends_.end() && next->first < end_ps) {
    return false;
  }
  auto own = ends_.end();
  if (next != ends_.begin()) {
    const auto before = std::prev(next);
    if (before->second > begin_ps) {
      return false;
    }
    if (before->second == begin_ps) {
      own = before;
      own->second = end_ps;
    }
  }
  if (own == ends_.end()) {
    own = ends_.emplace_hint(next, begin_ps, end_ps);
  }
  if (next != ends_.end() && next->first == end_ps) {
    own->second = next->second;
    ends_.erase(next);
  }
  return true;
}

Place TileTracks::place(std::uint32_t tile, Lane lane) {
  return named(tile, lane, 0, own_thread(tile, lane));
}

Place TileTracks::place(std::uint32_t tile, Lane lane, std::int64_t begin_ps, std::int64_t end_ps) {
  std::vector<Thread>& threads = threads_[own_thread(tile, lane)];
  std::size_t place = 0;
  while (place < threads.size() && !threads[place].slices.add(begin_ps, end_ps)) {
    ++place;
  }
  if (place == threads.size()) {
    threads.push_back({place == 0 ? own_thread(tile, lane) : next_further_--, {}});
    threads.back().slices.add(begin_ps, end_ps);
  }
  return named(tile, lane, place, threads[place].number);
}

Place TileTracks::named(std::uint32_t tile, Lane lane, std::size_t place, std::uint64_t thread) {
  constexpr std::size_t most_apart = 64;  // in the order from the top
  const Place found{process_of(map_.group_of(tile)), thread};
  if (named_threads_.insert(thread).second) {
    std::string name = "tile " + std::to_string(tile) + " " +
                       std::string(lane_names[static_cast<std::size_t>(lane)]);
    if (place > 0) {
      name += " " + std::to_string(place + 1);
    }
    writer_.name_thread(found, name,
                        own_thread(tile, lane) * most_apart + std::min(place, most_apart - 1));
  }
  return found;
}

CounterTracks::CounterTracks(ChromeWriter& writer, const RunMap& map)
    : writer_(writer), process_(machine_process(map)) {}

void CounterTracks::sample(const std::string& name, std::int64_t at_ps, const JsonObject& values) {
  if (!std::exchange(named_, true)) {
    writer_.name_process(process_, "machine", 0);
  }
  writer_.counter(process_, json_text(name), at_ps, values);
}

void CounterTracks::bin(const std::string& name, std::int64_t begin_ps, std::int64_t end_ps,
                        bool shown, const JsonObject& values, const JsonObject& zeros) {
  const auto before = open_.find(name);
  if (before != open_.end()) {
    if (before->second.end_ps < begin_ps) {
      sample(name, before->second.end_ps, before->second.zeros);
    }
    open_.erase(before);
  }
  if (shown) {
    sample(name, begin_ps, values);
    open_.emplace(name, Last{end_ps, zeros});
  }
}

void CounterTracks::close() {
  for (const auto& [name, last] : open_) {
    sample(name, last.end_ps, last.zeros);
  }
  open_.clear();
}

}  // namespace tessera::trace
