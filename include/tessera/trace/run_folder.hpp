// The folder a run leaves behind:
//   config.resolved.yaml, trace.00000.h5 …, index.h5, node_events.txt, summary.json, manifest.json
//   (last);
//   once it was stopped and went on also trace.s1.00000.h5 … and segments.json; checkpoints/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/trace/store/file_sum.hpp"
#include "tessera/trace/store/segment.hpp"

namespace tessera::trace {

// Events that each node sent, for the weights of a later run: see sim/cuts/weights.hpp.
inline constexpr const char* node_events_name = "node_events.txt";

// Name of rank `rank`'s trace inside the folder: "trace.00003.h5"; above 1000 ranks in a second
// folder level, "traces/003/trace.03141.h5". Of segment 2: "trace.s2.00003.h5".
std::string trace_name(int rank, int ranks, std::uint32_t segment = 0);

// Creates `folder` (and parents). One that holds a finished or broken earlier run of Tessera is
// emptied of that run's own files; a folder `plots` and files *.png and *.json.gz stay. One that
// holds anything else is refused with ConfigError before anything is removed. Called by rank 0
// before the others write. Throws IoError.
void prepare_run_folder(const std::string& folder, int ranks);

// Makes the folder of a run that is to go on ready for the segment that is last in `segments`:
// removes manifest, index, files half written and traces that are of none of the segments, and
// writes segments.json. Called by rank 0 before the others write. Throws IoError.
void prepare_to_go_on(const std::string& folder, const std::vector<Segment>& segments);

// Writes `text` to `path` aside, fsyncs and renames, so that a reader sees the old or the new file.
// Throws IoError.
void write_file_atomically(const std::string& path, const std::string& text);

// Writes `text` over what the file at `path` holds, for where there is no room for a second one.
// Its end is written first: where that finds no room either, the file stays as it was. Whether it
// is done.
bool overwrite_file(const std::string& path, const std::string& text);

// The first of the two, or the second where there is no room for it. Ranks that do so at a time
// take turns, as far as folders can be locked (flock(2)): each leaves one whole text, and the last
// one's stays. Whether it is done.
bool write_or_overwrite(const std::string& path, const std::string& text);

// Whether `write_file_atomically` could begin now: throws the IoError that it would. Leaves nothing
// behind.
void check_writable(const std::string& path);

// Writes index.h5: for each table a virtual dataset over the good rows of all segments and ranks,
// one after the other, and a table `ranks` that says which rows are whose. Called by rank 0 after
// all traces are closed. Throws IoError when a trace is missing, was not closed (a view would show
// zeros), has fewer rows than its segment says or other tables than the first one.
void write_index(const std::string& folder, const std::vector<Segment>& segments);
// The same for a run of one segment.
void write_index(const std::string& folder, int ranks);

// Writes manifest.json (format, and size, CRC-32C and good rows of every file of the run): the
// traces of all segments (none for a run without traces), and of the other files those that are
// there. `last` are the sums of the last segment's traces by rank, where they are known; all other
// files are read. Called by rank 0 last. Throws IoError.
void write_manifest(const std::string& folder, const std::vector<Segment>& segments,
                    std::span<const FileSum> last = {});
// The same for a run of one segment; `ranks` is 0 for a run without traces.
void write_manifest(const std::string& folder, int ranks);

// What is wrong with a run folder, one line a fault: "trace.00001.h5: damaged (CRC-32C differs)",
// "summary.json: missing", … Empty: all is as the manifest says. Reads every file once; does not
// open any with HDF5, which may crash on a damaged one.
std::vector<std::string> verify_run_folder(const std::string& folder);

// The same of a run that has finished. Where nothing but index and manifest are missing or damaged,
// they are written again, and nothing is wrong any more. `ranks` are those of the run's last
// segment, 0 for a run without traces. The caller has the folder's lock. Throws IoError where they
// cannot be written.
std::vector<std::string> settle_run_folder(const std::string& folder, int ranks);

}  // namespace tessera::trace
