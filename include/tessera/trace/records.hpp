// The tables of a trace: one plain record a row. docs/trace-format.md describes them, and a test
// compares the two. Times are in picoseconds since the start of the run.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {

// A fixed-length text field; longer text is cut, at a whole UTF-8 character.
std::array<char, 64> text64(std::string_view text);

// One row a node of the rank's region.
struct NodeRow {
  std::uint32_t node = 0;
  std::int64_t stage = -1;
  std::int64_t replica = -1;
  std::int64_t shard = -1;
  double x = 0;
  double y = 0;
  std::uint32_t rank = 0;
  std::uint8_t computes = 1;
  std::int64_t tenant = -1;
};

// One row a name that other rows refer to by number.
struct NameRow {
  std::uint32_t name = 0;
  std::array<char, 64> text{};
};

// One row an instruction that took time on a tile.
struct OperatorRow {
  std::int64_t start_ps = 0;
  std::int64_t end_ps = 0;
  std::uint32_t node = 0;
  std::uint32_t micro_batch = 0;
  std::uint16_t name = 0;
  std::uint8_t phase = 0;
  std::uint8_t activity = 0;
};

// One row a message between tiles.
struct MessageRow {
  std::int64_t sent_ps = 0;
  std::int64_t arrived_ps = 0;
  std::int64_t taken_ps = 0;
  std::uint64_t bytes = 0;
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  std::uint8_t traffic = 0;
};

// One row a chunk of a collective in one dimension, at one tile.
struct CollectivePhaseRow {
  std::int64_t start_ps = 0;
  std::int64_t end_ps = 0;
  std::uint64_t bytes = 0;
  std::uint32_t node = 0;
  std::uint32_t chunk = 0;
  std::uint16_t name = 0;
  std::uint8_t kind = 0;
  std::uint8_t dimension = 0;
};

// One row a request that was served.
struct RequestRow {
  std::int64_t arrival_ps = 0;
  std::int64_t begun_ps = 0;
  std::int64_t first_ps = 0;
  std::int64_t end_ps = 0;
  std::uint64_t request = 0;
  std::uint32_t prompt = 0;
  std::uint32_t generated = 0;
  std::uint32_t samples = 0;
  std::uint32_t again = 0;
  std::uint16_t tenant = 0;
};

// One row a token that a request was given.
struct TokenRow {
  std::int64_t time_ps = 0;
  std::int64_t since_ps = 0;
  std::uint64_t request = 0;
  std::uint16_t tenant = 0;
};

// One row a change of what a service holds.
struct ServiceLoadRow {
  std::int64_t time_ps = 0;
  std::uint64_t running = 0;
  std::uint64_t waiting = 0;
  std::uint64_t cache_blocks = 0;
  std::uint16_t tenant = 0;
};

// One row a directed link and bin in which it was used; and, in `links`, over the whole run.
struct LinkRow {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  std::uint64_t bytes = 0;
  std::int64_t busy_ps = 0;
  std::uint64_t largest_queue_bytes = 0;
  std::uint32_t node = 0;
  std::uint32_t to = 0;
  std::uint32_t port = 0;
  std::uint8_t link_class = 0;
};

// One row a DRAM channel and bin in which it was used; and, in `channels`, over the whole run.
struct ChannelRow {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::int64_t busy_ps = 0;
  std::int64_t longest_wait_ps = 0;
  std::uint64_t row_hits = 0;
  std::uint64_t row_misses = 0;
  std::uint64_t row_conflicts = 0;
  std::uint32_t channel = 0;
  std::uint32_t node = 0;
};

// One row a core of a model that knows its units, and bin in which it was used; and, in `cores`,
// over the whole run.
struct CoreRow {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  std::int64_t matrix_busy_ps = 0;
  std::int64_t vector_busy_ps = 0;
  std::int64_t dma_busy_ps = 0;
  std::uint64_t matrix_active = 0;
  std::uint64_t loaded_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t tiles = 0;
  std::uint32_t node = 0;
};

// One row a pass of the first tile of a stage: what it holds in the pass, when that is most.
struct MemoryRow {
  std::int64_t end_ps = 0;
  std::uint64_t weights_bytes = 0;
  std::uint64_t gradients_bytes = 0;
  std::uint64_t optimizer_bytes = 0;
  std::uint64_t activations_bytes = 0;
  std::uint64_t recomputed_bytes = 0;
  std::uint64_t gathered_bytes = 0;
  std::uint64_t scattered_bytes = 0;
  std::uint64_t working_bytes = 0;
  std::uint64_t communicators_bytes = 0;
  std::uint64_t context_bytes = 0;
  std::uint64_t reserve_bytes = 0;
  std::uint32_t node = 0;
  std::uint32_t micro_batch = 0;
  std::uint16_t chunk = 0;
  std::uint8_t phase = 0;
};

// One row a progress report of the rank's engine; counts since the start. Not part of the results:
// it differs from run to run.
struct EngineRow {
  std::int64_t simulated_ps = 0;
  double wall_s = 0;
  double waiting_s = 0;
  std::uint64_t events = 0;
  std::uint64_t windows = 0;
  std::uint64_t rounds = 0;
  std::uint64_t remote_events = 0;
  std::uint64_t batches = 0;
  std::uint64_t pending = 0;
  std::uint64_t resident_bytes = 0;
};

// Places of the tables in `tables()`.
enum Table : TableIndex {
  nodes,
  names,
  operators,
  messages,
  collective_phases,
  link_bins,
  links,
  channel_bins,
  channels,
  core_bins,
  cores,
  requests,
  tokens,
  service_load,
  memory,
  engine
};

// Specs of all tables, in the order of `Table`. Phases and activities are numbers whose meaning is
// in root attributes of the file (`phases`, `activities`, `traffic`), comma-separated.
std::vector<TableSpec> tables();

}  // namespace tessera::trace
