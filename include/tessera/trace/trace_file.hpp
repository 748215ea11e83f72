// One rank's trace: an HDF5 file of append-only tables that stays readable when the run is killed.
//
// Rules (see docs/trace-format.md): format bounds V110; all objects are created first, then
// SWMR writing starts and nothing but rows is added; whole chunks of 16 384 rows, shuffle +
// deflate + fletcher32 (of our own making, as HDF5 reads them); after each flush a row in `/commit`
// says how many rows of each table are good and their CRC-32C. Readers trust the last good commit,
// never the extent.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/core/time.hpp"
#include "tessera/trace/store/file_sum.hpp"

namespace tessera::trace {

enum class FieldType { u8, u16, u32, u64, i64, f64, text32, text64 };

// One column of a table. `unit` is "" for counts, ids and names.
struct Field {
  std::string name;
  FieldType type;
  std::size_t offset;
  std::string unit;
  std::string description;
};

// One table: its rows are plain records of `row_bytes`, laid out as `fields` say. Bytes that belong
// to no field (a struct's padding) are stored as zeros. "commit" is no name for a table.
struct TableSpec {
  std::string name;
  std::string description;
  std::size_t row_bytes;
  std::vector<Field> fields;
  // Rows come so seldom that a usual chunk would fill up over the whole run, and its memory with
  // it.
  bool is_slow = false;
};

// A table spec from a plain struct, without writing its layout twice:
//   describe<OperatorRecord>("operators", "one row an operator execution", {
//     field("entity", &OperatorRecord::entity, "", "tile that executed it"), …})
// Member types: std::uint8_t/16/32/64, std::int64_t, double, std::array<char, 32 or 64> (text).
template <class Record, class Member>
Field field(std::string name, Member Record::*member, std::string unit, std::string description);
template <class Record>
TableSpec describe(std::string name, std::string description, std::vector<Field> fields);

using Attributes = std::vector<std::pair<std::string, std::string>>;

// Identifies a table of one file; as returned in order by the constructor's list.
using TableIndex = std::size_t;

class TraceFile {
 public:
  // Creates `path` (which must not exist) with every table, writes `attributes` to the root group
  // plus file type "tessera-trace", format version and time unit "ps", then starts SWMR. Throws
  // IoError naming the file and the system's reason, InternalError on a table that makes no sense.
  // `tail_interval` is the wall time between two writings of partial chunks; shorter makes the file
  // much larger, as each writing stores the chunk anew.
  TraceFile(const std::string& path, std::vector<TableSpec> tables, const Attributes& attributes,
            std::chrono::milliseconds tail_interval = std::chrono::minutes(1));
  ~TraceFile();  // closes without a final commit if `close` was not called
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // Appends one record of table `table`; buffered until a chunk is whole. Throws IoError at the
  // first failed write; the file is then not touched again, and every later call throws the same.
  template <class Record>
  void append(TableIndex table, const Record& record) {
    std::memcpy(add(table, sizeof(Record)), &record, sizeof(Record));
  }
  // The place of one more record, of `size` bytes, to be filled before the next call.
  std::byte* add(TableIndex table, std::size_t size);

  // Commits the whole chunks written since the last commit; `now` is stored in the commit row. Also
  // writes partial tails when `tail_interval` has passed since it last did. Costs a look at the
  // clock when there is nothing new. `with_tails` writes them in any case: for tables that a killed
  // run must not be without. Throws as `append`.
  void commit(SimTime now, bool with_tails = false);
  // Forces what was committed to the disk. Throws as `append`.
  void sync();
  // Writes everything, commits, closes; nothing when already closed. Throws as `append`.
  void close(SimTime now);

  // Of the file, once it is closed; reads only what was not summed as it was written. Throws
  // IoError.
  FileSum sum() const;

  const std::string& path() const;
  std::uint64_t rows(TableIndex table) const;
  // Bytes held in buffers.
  std::size_t buffered_bytes() const;
  // Bytes that a file of these tables holds in buffers once each has had a row.
  static std::size_t predicted_bytes(const std::vector<TableSpec>& tables);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A table read back: only rows covered by the last good commit.
struct ReadTable {
  TableSpec spec;
  std::uint64_t rows = 0;
  std::vector<std::byte> bytes;  // rows * spec.row_bytes
  template <class Record>
  Record record(std::uint64_t row) const;
};

// What a reader believes: `rows` checks the CRC-32C of all rows against the commits, and so reads
// the whole file once; `commits` believes the last commit, for files closed a moment ago; `chunks`
// is for what is left of a damaged file: as `rows` up to the first commit that is not met, then of
// each table for itself the chunks, up to the first whose Fletcher-32 is wrong. Damaged commits are
// passed over, and a table that cannot be opened has no rows.
enum class Trust { rows, commits, chunks };

// Opens a trace for reading, also one whose writer was killed (SWMR read). Throws IoError when it
// is no trace, of another major format, or damaged from the first commit on.
//
// HDF5 itself may crash on a file that was changed behind its back; where a manifest exists, check
// it first (run_folder.hpp).
class TraceReader {
 public:
  explicit TraceReader(const std::string& path, Trust trust = Trust::rows);
  ~TraceReader();
  TraceReader(const TraceReader&) = delete;
  TraceReader& operator=(const TraceReader&) = delete;
  // In the order they were given to the writer.
  std::vector<std::string> table_names() const;
  std::string attribute(std::string_view name) const;  // "" when absent
  // The root attributes, sorted by name.
  Attributes attributes() const;
  const TableSpec& spec(std::string_view table) const;
  ReadTable read(std::string_view table) const;
  // Rows [first, first + count), cut at the last good row.
  ReadTable read(std::string_view table, std::uint64_t first, std::uint64_t count) const;
  // The same rows of the table that `wanted` names, as rows of `wanted`: fields by name, all of
  // which the file has, and wider where they were narrower there.
  ReadTable read_as(const TableSpec& wanted, std::uint64_t first, std::uint64_t count) const;
  // Rows of the last good commit.
  std::uint64_t committed_rows(std::string_view table) const;
  // Simulated time of the last good commit; zero when there is none.
  SimTime committed_time() const;
  // Whether the writer closed the file; false when it was killed, or is still writing.
  bool closed() const;
  // Why commits after the last good one are not believed, or under Trust::chunks the first damage
  // found; "" when all are good.
  const std::string& damage() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Addresses that must be free when the HDF5 library is asked for something [B] (see
// address_space.hpp): creating or opening a file takes it 2.2 MiB, a chunk 3 times its size.
inline constexpr std::uint64_t room_for_library = std::uint64_t{8} << 20U;

// HDF5 library version, "1.10.8".
std::string hdf5_version();

}  // namespace tessera::trace

#include "tessera/trace/trace_file.inl"
