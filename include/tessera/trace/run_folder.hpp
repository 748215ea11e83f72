// The folder a run leaves behind:
//   config.resolved.yaml, trace.00000.h5 …, index.h5, summary.json, manifest.json (last).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"

namespace tessera::trace {

// Name of rank `rank`'s trace inside the folder: "trace.00003.h5"; above 1000 ranks in a second
// folder level, "traces/003/trace.03141.h5".
std::string trace_name(int rank, int ranks);

// Creates `folder` (and parents). One that holds a finished or broken earlier run of Tessera is
// emptied of that run's own files; one that holds anything else is refused with ConfigError. Called
// by rank 0 before the others write. Throws IoError.
void prepare_run_folder(const std::string& folder, int ranks);

// Writes `text` to `path` aside, fsyncs and renames, so that a reader sees the old or the new file.
// Throws IoError.
void write_file_atomically(const std::string& path, const std::string& text);

// Writes index.h5: for each table a virtual dataset over the good rows of all ranks. Called by rank
// 0 after all traces are closed.
void write_index(const std::string& folder, int ranks);

// Writes manifest.json (format, and size, CRC-32C and committed rows of every file of the run).
// Called by rank 0 last.
void write_manifest(const std::string& folder, int ranks);

// What `verify_run_folder` found wrong: missing file, wrong size or CRC. Empty: all there.
std::vector<std::string> verify_run_folder(const std::string& folder);

}  // namespace tessera::trace
