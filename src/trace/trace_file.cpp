#include "tessera/trace/trace_file.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <optional>
#include <set>

#include "commit_log.hpp"
#include "crc_join.hpp"
#include "hdf5_support.hpp"
#include "posix_file.hpp"
#include "schema.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

using WallClock = std::chrono::steady_clock;

// The rows of a chunk: 16 384, fewer where a row is long, so that a chunk keeps to 1 MiB.
std::size_t chunk_rows_of(std::size_t row_bytes) {
  constexpr std::size_t most_rows = 16'384;
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  return std::min(most_rows, std::bit_floor(std::max<std::size_t>(most_bytes / row_bytes, 1)));
}

struct Gap {
  std::size_t offset;
  std::size_t size;
};

// The bytes of a row that belong to no field. They are written as zeros: what a struct's padding
// holds is left to chance, and would differ from run to run.
std::vector<Gap> gaps_of(const TableSpec& spec) {
  std::vector<Field> fields = spec.fields;
  std::sort(fields.begin(), fields.end(),
            [](const Field& a, const Field& b) { return a.offset < b.offset; });
  std::vector<Gap> gaps;
  std::size_t end = 0;
  for (const Field& field : fields) {
    if (field.offset > end) {
      gaps.push_back({end, field.offset - end});
    }
    end = field.offset + size_of(field.type);
  }
  if (spec.row_bytes > end) {
    gaps.push_back({end, spec.row_bytes - end});
  }
  return gaps;
}

// A table while it is written. The buffer holds the rows of the chunk that is not whole yet, also
// those already written as a tail.
struct Table {
  explicit Table(TableSpec table_spec)
      : spec(std::move(table_spec)),
        row_bytes(spec.row_bytes),
        chunk_rows(chunk_rows_of(row_bytes)),
        gaps(gaps_of(spec)) {}

  std::uint64_t rows() const { return base + buffered; }

  TableSpec spec;
  std::size_t row_bytes;
  std::size_t chunk_rows;
  std::vector<Gap> gaps;
  std::unique_ptr<std::byte[]> buffer;  // made at the first row
  std::size_t buffered = 0;             // rows in the buffer
  std::uint64_t base = 0;               // rows before the buffer
  std::uint64_t written = 0;            // rows in the file
  std::uint64_t committed = 0;          // rows of the last commit
  std::uint32_t crc = 0;                // of the rows written since
  hdf5::Type type;
  hdf5::WriteDataset dataset;
};

// Creation properties of a chunked, growing dataset.
hdf5::Properties growing(hsize_t chunk_rows, const std::string& path) {
  hdf5::Properties creation(
      hdf5::check(H5Pcreate(H5P_DATASET_CREATE), path, "set the creation properties"));
  hdf5::check(H5Pset_chunk(creation.get(), 1, &chunk_rows), path, "set the chunk size");
  hdf5::check(H5Pset_obj_track_times(creation.get(), false), path, "turn off time stamps");
  return creation;
}

hdf5::WriteDataset create_growing(hid_t file, const std::string& name, const hdf5::Type& type,
                                  const hdf5::Properties& creation, const std::string& path) {
  const hsize_t none = 0;
  const hsize_t unlimited = H5S_UNLIMITED;
  const hdf5::Space space(
      hdf5::check(H5Screate_simple(1, &none, &unlimited), path, "make a table's shape"));
  return hdf5::WriteDataset(hdf5::check(H5Dcreate2(file, name.c_str(), type.get(), space.get(),
                                                   H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                                        path, "create a table"));
}

// Appends rows behind the present extent or over its end. Throws IoError.
void write_rows(hid_t dataset, const hdf5::Type& type, hsize_t first, hsize_t count,
                const void* rows, const std::string& path) {
  const hsize_t end = first + count;
  hdf5::check(H5Dset_extent(dataset, &end), path, "extend a table");
  const hdf5::Space memory(hdf5::check(H5Screate_simple(1, &count, nullptr), path, "write rows"));
  const hdf5::Space target = hdf5::select_rows(dataset, first, count, path);
  hdf5::check(H5Dwrite(dataset, type.get(), memory.get(), target.get(), H5P_DEFAULT, rows), path,
              "write rows");
}

}  // namespace

struct TraceFile::Impl {
  Impl(const std::string& file_path, std::vector<TableSpec> specs, const Attributes& attributes,
       std::chrono::milliseconds interval);
  ~Impl();

  void append(TableIndex index, const void* record, std::size_t size);
  void commit(SimTime now, bool with_tails);
  void close(SimTime now);

  // Runs `body` under the library's lock; the first IoError ends the life of the file.
  template <class Body>
  void guarded(Body body);
  void create(const Attributes& attributes);
  void open_tables();
  void write_buffer(Table& table);
  void write_tails();
  void write_commit(SimTime now);
  bool uncommitted() const;

  std::string path;
  std::chrono::milliseconds tail_interval;
  WallClock::time_point created = WallClock::now();
  WallClock::time_point last_tail = created;
  std::vector<Table> tables;
  CommitLayout layout;
  std::uint64_t commits = 0;
  bool open = false;
  std::optional<IoError> failure;
  hdf5::WriteFile file;
  hdf5::Type commit_type;
  hdf5::WriteDataset commit_log;
};

TraceFile::Impl::Impl(const std::string& file_path, std::vector<TableSpec> specs,
                      const Attributes& attributes, std::chrono::milliseconds interval)
    : path(file_path), tail_interval(interval), layout(specs.size()) {
  ensure(!specs.empty(), "a trace needs a table");
  std::set<std::string> names{commit_name};
  for (TableSpec& spec : specs) {
    check_spec(spec);
    ensure(names.insert(spec.name).second, "two tables of a trace have one name");
    tables.emplace_back(std::move(spec));
  }
  const hdf5::Guard guard;
  create(attributes);
  // From here on nothing but rows may be added.
  hdf5::check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), path, "flush the file");
  hdf5::check(H5Fstart_swmr_write(file.get()), path, "start single-writer mode");
  open_tables();
  open = true;
}

void TraceFile::Impl::create(const Attributes& attributes) {
  file = hdf5::create_file(path, H5F_ACC_EXCL);
  hdf5::write_text(file.get(), "file_type", trace_file_type, path);
  hdf5::write_text(file.get(), "format_version", format_version, path);
  hdf5::write_text(file.get(), "time_unit", "ps", path);
  for (const auto& [name, text] : attributes) {
    hdf5::write_text(file.get(), name, text, path);
  }
  std::vector<std::string> names;
  for (Table& table : tables) {
    table.type = row_type(table.spec, path);
    const hdf5::Properties creation = growing(table.chunk_rows, path);
    hdf5::check(H5Pset_shuffle(creation.get()), path, "set the filters");
    hdf5::check(H5Pset_deflate(creation.get(), 1), path, "set the filters");
    hdf5::check(H5Pset_fletcher32(creation.get()), path, "set the filters");
    hdf5::WriteDataset dataset =
        create_growing(file.get(), table.spec.name, table.type, creation, path);
    write_schema(dataset.get(), table.spec, path);
    hdf5::check(dataset.reset(), path, "close a table");
    names.push_back(table.spec.name);
  }
  commit_type = layout.type(path);
  hdf5::WriteDataset log = create_growing(file.get(), commit_name, commit_type,
                                          growing(layout.chunk_rows(), path), path);
  CommitLayout::write_attributes(log.get(), names, path);
  hdf5::check(log.reset(), path, "close a table");
}

void TraceFile::Impl::open_tables() {
  const auto open_table = [&](const std::string& name, std::size_t chunk_bytes) {
    const hdf5::Properties access(
        hdf5::check(H5Pcreate(H5P_DATASET_ACCESS), path, "set the access properties"));
    // One chunk a table: rows only ever go to the last.
    hdf5::check(H5Pset_chunk_cache(access.get(), 3, chunk_bytes, 1.0), path, "set the cache");
    return hdf5::WriteDataset(
        hdf5::check(H5Dopen2(file.get(), name.c_str(), access.get()), path, "open a table"));
  };
  for (Table& table : tables) {
    table.dataset = open_table(table.spec.name, table.chunk_rows * table.row_bytes);
  }
  commit_log = open_table(commit_name, layout.chunk_rows() * layout.row_bytes());
}

TraceFile::Impl::~Impl() {
  if (failure.has_value() || file.get() < 0) {
    // Closing would touch the file again.
    for (Table& table : tables) {
      table.dataset.release();
    }
    commit_log.release();
    file.release();
    return;
  }
  const hdf5::Guard guard;
  for (Table& table : tables) {
    table.dataset.reset();
  }
  commit_log.reset();
  file.reset();
}

template <class Body>
void TraceFile::Impl::guarded(Body body) {
  try {
    const hdf5::Guard guard;
    body();
  } catch (const IoError& error) {
    failure = error;
    open = false;
    throw;
  }
}

void TraceFile::Impl::append(TableIndex index, const void* record, std::size_t size) {
  if (!open) [[unlikely]] {
    if (failure.has_value()) {
      throw IoError(*failure);
    }
    throw InternalError("a row for a trace that is closed");
  }
  ensure(index < tables.size(), "a row for a table that is not there");
  Table& table = tables[index];
  ensure(size == table.row_bytes, "a row of another table");
  if (table.buffer == nullptr) [[unlikely]] {
    table.buffer = std::make_unique_for_overwrite<std::byte[]>(table.chunk_rows * size);
  }
  std::byte* place = table.buffer.get() + table.buffered * size;
  std::memcpy(place, record, size);
  for (const Gap& gap : table.gaps) {
    std::memset(place + gap.offset, 0, gap.size);
  }
  if (++table.buffered == table.chunk_rows) [[unlikely]] {
    guarded([&] { write_buffer(table); });
  }
}

// Writes the whole buffer, also the rows of an earlier tail: with them the chunk need not be read
// back to be made whole.
void TraceFile::Impl::write_buffer(Table& table) {
  write_rows(table.dataset.get(), table.type, table.base, table.buffered, table.buffer.get(), path);
  const std::size_t old_rows = table.written - table.base;
  table.crc = crc32c(table.buffer.get() + old_rows * table.row_bytes,
                     (table.buffered - old_rows) * table.row_bytes, table.crc);
  table.written = table.rows();
  if (table.buffered == table.chunk_rows) {
    table.base += table.chunk_rows;
    table.buffered = 0;
  }
}

void TraceFile::Impl::write_tails() {
  for (Table& table : tables) {
    if (table.rows() > table.written) {
      write_buffer(table);
    }
  }
}

bool TraceFile::Impl::uncommitted() const {
  return std::any_of(tables.begin(), tables.end(),
                     [](const Table& table) { return table.written > table.committed; });
}

void TraceFile::Impl::write_commit(SimTime now) {
  const auto wall =
      std::chrono::duration_cast<std::chrono::milliseconds>(WallClock::now() - created);
  Commit commit{now, static_cast<std::uint64_t>(wall.count()), {}, 0};
  for (Table& table : tables) {
    if (table.written > table.committed) {
      hdf5::check(H5Dflush(table.dataset.get()), path, "flush rows");
    }
    commit.rows.push_back(table.written);
    commit.crc =
        crc_join(commit.crc, table.crc, (table.written - table.committed) * table.row_bytes);
  }
  const std::vector<std::byte> row = layout.encode(commit);
  write_rows(commit_log.get(), commit_type, commits, 1, row.data(), path);
  hdf5::check(H5Dflush(commit_log.get()), path, "flush rows");
  ++commits;
  for (Table& table : tables) {
    table.committed = table.written;
    table.crc = 0;
  }
}

void TraceFile::Impl::commit(SimTime now, bool with_tails) {
  if (failure.has_value()) {
    throw IoError(*failure);
  }
  ensure(open, "a commit of a trace that is closed");
  const WallClock::time_point wall = WallClock::now();
  const bool tails_due = with_tails || wall - last_tail >= tail_interval;
  if (!tails_due && !uncommitted()) {
    return;
  }
  guarded([&] {
    if (tails_due) {
      write_tails();
      last_tail = wall;
    }
    if (uncommitted()) {
      write_commit(now);
    }
  });
}

void TraceFile::Impl::close(SimTime now) {
  if (failure.has_value()) {
    throw IoError(*failure);
  }
  if (!open) {
    return;
  }
  guarded([&] {
    write_tails();
    write_commit(now);
    open = false;
    for (Table& table : tables) {
      hdf5::check(table.dataset.reset(), path, "close a table");
      table.buffer.reset();
    }
    hdf5::check(commit_log.reset(), path, "close a table");
    hdf5::check(file.reset(), path, "close the file");
  });
}

TraceFile::TraceFile(const std::string& path, std::vector<TableSpec> tables,
                     const Attributes& attributes, std::chrono::milliseconds tail_interval)
    : impl_(std::make_unique<Impl>(path, std::move(tables), attributes, tail_interval)) {}

TraceFile::~TraceFile() = default;

void TraceFile::append_bytes(TableIndex table, const void* record, std::size_t size) {
  impl_->append(table, record, size);
}

void TraceFile::commit(SimTime now, bool with_tails) {
  impl_->commit(now, with_tails);
}

void TraceFile::sync() {
  impl_->guarded([this] { sync_path(impl_->path); });
}

void TraceFile::close(SimTime now) {
  impl_->close(now);
}

const std::string& TraceFile::path() const {
  return impl_->path;
}

std::uint64_t TraceFile::rows(TableIndex table) const {
  ensure(table < impl_->tables.size(), "rows of a table that is not there");
  return impl_->tables[table].rows();
}

std::size_t TraceFile::buffered_bytes() const {
  std::size_t bytes = 0;
  for (const Table& table : impl_->tables) {
    bytes += table.buffer == nullptr ? 0 : table.chunk_rows * table.row_bytes;
  }
  return bytes;
}

std::string hdf5_version() {
  const hdf5::Guard guard;
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (H5get_libversion(&major, &minor, &release) < 0) {
    return "unknown";
  }
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
}

}  // namespace tessera::trace
