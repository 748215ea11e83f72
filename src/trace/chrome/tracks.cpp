#include "chrome/tracks.hpp"

#include <algorithm>
#include <array>
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

Place TileTracks::place(std::uint32_t tile, Lane lane) {
  const auto index = static_cast<std::uint64_t>(lane);
  const Place place{process_of(map_.group_of(tile)), tile * lanes + index + 1};
  if (named_threads_.insert(place.thread).second) {
    const std::string name = "tile " + std::to_string(tile) + " " + std::string(lane_names[index]);
    writer_.name_thread(place, name, place.thread);
  }
  return place;
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
