// Checkpoints: what a run needs to go on, in RUN/checkpoints/00001, 00002, …
//
// A checkpoint is a folder: one HDF5 file a rank and checkpoint.json, which holds size and CRC-32C
// of each. It is written under another name and renamed when all of it is on the disk, so a folder
// with a plain number is whole. docs/checkpoint-format.md describes the files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/ids.hpp"
#include "tessera/trace/store/segment.hpp"

namespace tessera::trace {

// The layout of what checkpoints hold of entities, events and totals. To be raised by one wherever
// any model's saved state changes its size, order or meaning. tests/data holds checkpoints of each
// number, of some models, which must be gone on from as long as it stays.
inline constexpr std::uint32_t state_version = 16;

struct CheckpointFile {
  std::string name;  // relative to the checkpoint's folder
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
};

// checkpoint.json.
struct Checkpoint {
  std::uint32_t number = 0;
  std::uint32_t state = 0;  // state_version of the program that wrote it; 0: before there was one
  std::string version;      // of that program
  std::string git_hash;     // likewise
  std::string configuration_hash;
  std::string inputs;  // digest of files that the configuration names; empty: none, or not known
  std::int64_t cut_ps = 0;            // every event before it was handled, none after it
  std::vector<Segment> segments;      // so far, with the good rows of their traces
  std::vector<CheckpointFile> files;  // [ranks]
};

// Numbers of the checkpoints in a run folder, newest first.
std::vector<std::uint32_t> list_checkpoints(const std::string& folder);

// Path of a checkpoint's folder, and name of a rank's file in it: "rank.00003.h5"; above 1000 ranks
// "003/rank.03141.h5".
std::string checkpoint_path(const std::string& folder, std::uint32_t number);
std::string checkpoint_file_name(int rank, int ranks);

// Makes the folder aside for a new checkpoint and gives its path; what an earlier attempt left
// there is removed. Called by rank 0 before the others write. Throws IoError.
std::string begin_checkpoint(const std::string& folder, std::uint32_t number, int ranks);

// Writes checkpoint.json, forces all to the disk, gives the checkpoint its name, and removes all
// but the newest two. Called by rank 0 when all files are there. Throws IoError.
void publish_checkpoint(const std::string& folder, const Checkpoint& checkpoint);

// Removes a checkpoint begun and not published, or one that is of no use. Never throws.
void discard_checkpoint(const std::string& folder, std::uint32_t number);

// Reads checkpoint.json. Throws IoError when it is missing, damaged or no checkpoint, ConfigError
// when its format is of another major version.
Checkpoint read_checkpoint(const std::string& folder, std::uint32_t number);

// What is wrong with one of its files, "" when nothing is. Reads the file once, without HDF5.
std::string fault_of(const std::string& folder, const Checkpoint& checkpoint, std::size_t file);

// Writes one rank's file piece by piece; holds a few MiB at most.
class CheckpointWriter {
 public:
  // `event_bytes` is the size of all events. Throws IoError.
  CheckpointWriter(const std::string& path, std::size_t event_bytes);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  void add_entity(EntityId entity, std::span<const std::byte> state);
  void add_event(std::span<const std::byte> event);
  // Ends the file with what belongs to the rank as a whole and forces it to the disk. The name in
  // the result is left to the caller.
  CheckpointFile finish(std::span<const std::byte> engine_totals,
                        std::span<const std::byte> run_totals);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Reads one rank's file back, after `fault_of` found nothing. All calls throw IoError.
class CheckpointReader {
 public:
  explicit CheckpointReader(const std::string& path);
  ~CheckpointReader();
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  // The state of every entity that is wanted; bytes are valid during the call.
  void visit_entities(const std::function<bool(EntityId)>& wanted,
                      const std::function<void(EntityId, std::span<const std::byte>)>& visit) const;
  void visit_events(const std::function<void(std::span<const std::byte>)>& visit) const;
  std::vector<std::byte> engine_totals() const;
  std::vector<std::byte> run_totals() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::trace
