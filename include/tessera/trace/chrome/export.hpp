// A finished run as a timeline for chrome://tracing and Perfetto.
//
// Writes the Trace Event Format's JSON, gzip-compressed, row by row:
//   process   a pipeline stage ("stage 3", of a tenant "chat/stage 3"); one more ("machine") holds
//   the counters thread    a tile and lane: "compute", "communication", "memory", "idle" for the
//   main program,
//             which does one thing after the other, so slices of a tile do not overlap
//   async     a message, from sent to arrived, on the lane "messages" of its sender (full traces)
//   counter   each DRAM channel's bandwidth [GB/s], the traffic of all links [GB/s] and their
//             utilisation [percent], the mean over the links that were used in the run
//
// `ts` and `dur` are microseconds with six decimals, written from integers, so every picosecond is
// kept; `args` hold the exact integers too (start_ps and end_ps; sent_ps, arrived_ps, taken_ps).
// Format: "Trace Event Format", Google,
// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/core/time.hpp"

namespace tessera::trace {

struct ChromeExportOptions {
  std::string folder;  // of the run
  std::string output;  // "": trace.json.gz in `folder`
  // Most events to write: slices, messages and bins of counters. Of more, the earliest are kept, so
  // the timeline is complete up to one instant.
  std::uint64_t limit = 1'000'000;
  // Slices of these stages and these tiles only, and messages they send or receive; empty: all.
  // Counters are of the whole machine.
  std::vector<std::int64_t> stages;
  std::vector<std::uint32_t> tiles;
  // What is under way at some instant of [from, to).
  SimTime from;
  SimTime to = SimTime::never();
};

// What was written.
struct ChromeExport {
  std::string output;
  std::uint64_t slices = 0;
  std::uint64_t messages = 0;
  std::uint64_t bins = 0;
  std::uint64_t left_out = 0;  // beyond the limit
  // All events that start before it are there; `never` when none was left out.
  SimTime complete_until = SimTime::never();
};

// Memory: 32 bytes a node, 8 bytes an event up to the limit, and the bins of the links' sum. Throws
// IoError when the folder is no complete run with traces or the output cannot be written,
// ConfigError for an unknown stage or tile, a time span without an instant, or a limit of zero.
ChromeExport export_chrome(const ChromeExportOptions& options);

// Whether a file that begins so may be such an export.
bool begins_as_chrome_export(std::string_view beginning);

}  // namespace tessera::trace
