// Where a run's events are shown: processes, threads and counters, named when first used.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "chrome/writer.hpp"
#include "store/run_map.hpp"

namespace tessera::trace {

// Lanes of a tile, from the top.
enum class Lane : std::uint8_t { compute, communication, memory, idle, other, messages };

// The lane of an activity; `other` for one that is not known.
Lane lane_of(std::string_view activity);

// Spans of time that do not overlap.
class DisjointSpans {
 public:
  // False, and nothing is added, where it overlaps one that is there. Spans may come in any order;
  // one without length overlaps none.
  bool add(std::int64_t begin_ps, std::int64_t end_ps);

 private:
  std::map<std::int64_t, std::int64_t> ends_;  // by begin; those that touch are one
};

// Gives events of tiles their process and thread.
class TileTracks {
 public:
  // Both must live longer.
  TileTracks(ChromeWriter& writer, const RunMap& map) : writer_(writer), map_(map) {}

  // The lane's own thread, in which events may overlap.
  Place place(std::uint32_t tile, Lane lane);
  // One of the lane's threads, whose slices do not overlap.
  Place place(std::uint32_t tile, Lane lane, std::int64_t begin_ps, std::int64_t end_ps);

 private:
  struct Thread {
    std::uint64_t number;
    DisjointSpans slices;
  };

  std::uint64_t process_of(const RunMap::Group& group);
  Place named(std::uint32_t tile, Lane lane, std::size_t place, std::uint64_t thread);

  ChromeWriter& writer_;
  const RunMap& map_;
  std::unordered_set<std::uint64_t> named_processes_;
  std::unordered_set<std::uint64_t> named_threads_;
  std::map<std::uint64_t, std::vector<Thread>> threads_;  // by the lane's own
  std::uint64_t next_further_ = 0x7fff'ffff;  // downwards, and viewers have 32 bits for a thread
};

// Turns bins into samples: a value at the begin of a bin, zero after one that no other follows.
// Bins of one counter come in the order of time.
class CounterTracks {
 public:
  CounterTracks(ChromeWriter& writer, const RunMap& map);

  // `zeros` has the keys of `values`. A bin that is not shown only ends the one before.
  void bin(const std::string& name, std::int64_t begin_ps, std::int64_t end_ps, bool shown,
           const JsonObject& values, const JsonObject& zeros);
  // After the last bin.
  void close();

 private:
  void sample(const std::string& name, std::int64_t at_ps, const JsonObject& values);

  struct Last {
    std::int64_t end_ps;
    JsonObject zeros;
  };
  ChromeWriter& writer_;
  std::uint64_t process_;
  bool named_ = false;
  std::map<std::string, Last> open_;  // by the counter's name
};

}  // namespace tessera::trace
