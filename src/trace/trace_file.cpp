#include "tessera/trace/trace_file.hpp"

#include <algorithm>
#include <chrono>
#include <new>
#include <optional>
#include <set>
#include <span>

#include "schema.hpp"
#include "store/chunk_filters.hpp"
#include "store/commit_log.hpp"
#include "store/hdf5_support.hpp"
#include "store/posix_file.hpp"
#include "store/table_buffer.hpp"
#include "store/written_sum.hpp"
#include "tessera/core/crc_join.hpp"
#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

using WallClock = std::chrono::steady_clock;

// A table while it is written.
struct OpenTable {
  explicit OpenTable(TableSpec table_spec) : spec(std::move(table_spec)), buffer(spec) {}

  // Rows in the file that are in no commit yet.
  std::uint64_t uncommitted() const { return buffer.taken() - committed; }
  // A commit would have something new, without partial chunks.
  bool has_news() const { return uncommitted() > 0 || buffer.whole(); }

  TableSpec spec;
  TableBuffer buffer;
  std::uint64_t committed = 0;  // rows of the last commit
  std::uint32_t crc = 0;        // of the rows written since
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

void extend(hid_t dataset, hsize_t rows, const std::string& path) {
  hdf5::check(H5Dset_extent(dataset, &rows), path, "extend a table");
}

// Writes a row behind the present end. Throws IoError.
void write_row(hid_t dataset, const hdf5::Type& type, hsize_t row, const void* bytes,
               const std::string& path) {
  const hsize_t one = 1;
  extend(dataset, row + 1, path);
  const hdf5::Space memory(hdf5::check(H5Screate_simple(1, &one, nullptr), path, "write rows"));
  const hdf5::Space target = hdf5::select_rows(dataset, row, one, path);
  hdf5::check(H5Dwrite(dataset, type.get(), memory.get(), target.get(), H5P_DEFAULT, bytes), path,
              "write rows");
}

}  // namespace

struct TraceFile::Impl {
  Impl(const std::string& file_path, std::vector<TableSpec> specs, const Attributes& attributes,
       std::chrono::milliseconds interval);
  ~Impl();  // NOLINT(bugprone-exception-escape): what is open has started the library

  std::byte* add(TableIndex index, std::size_t size);
  void commit(SimTime now, bool with_tails);
  void close(SimTime now);

  // Runs `body` under the library's lock; the first IoError, or having no memory,
  // ends the life of the file.
  template <class Body>
  void guarded(Body body);
  void create(const Attributes& attributes);
  void open_tables();
  void write_chunk(OpenTable& table);
  void write_chunks(bool with_tails);
  void write_commit(SimTime now);
  bool has_news() const;

  std::string path;
  std::chrono::milliseconds tail_interval;
  WallClock::time_point created = WallClock::now();
  WallClock::time_point last_tail = created;
  std::vector<OpenTable> tables;
  ChunkFilters filters;
  WrittenSum written;
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
  for (OpenTable& table : tables) {
    const hdf5::Properties creation = growing(table.buffer.chunk_rows(), path);
    hdf5::check(H5Pset_shuffle(creation.get()), path, "set the filters");
    hdf5::check(H5Pset_deflate(creation.get(), 1), path, "set the filters");
    hdf5::check(H5Pset_fletcher32(creation.get()), path, "set the filters");
    hdf5::WriteDataset dataset =
        create_growing(file.get(), table.spec.name, row_type(table.spec, path), creation, path);
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
    hdf5::check(H5Pset_chunk_cache(access.get(), 3, chunk_bytes, 1.0), path, "set the cache");
    return hdf5::WriteDataset(
        hdf5::check(H5Dopen2(file.get(), name.c_str(), access.get()), path, "open a table"));
  };
  for (OpenTable& table : tables) {
    table.dataset = open_table(table.spec.name, 0);  // whole chunks pass the cache by
  }
  // One chunk: rows only ever go to the last.
  commit_log = open_table(commit_name, layout.chunk_rows() * layout.row_bytes());
}

TraceFile::Impl::~Impl() {  // NOLINT(bugprone-exception-escape): as above
  if (failure.has_value() || file.get() < 0 || !hdf5::has_room()) {
    // Closing would touch the file again, or fail.
    for (OpenTable& table : tables) {
      table.dataset.release();
    }
    commit_log.release();
    file.release();
    return;
  }
  const hdf5::Guard guard;
  for (OpenTable& table : tables) {
    table.dataset.reset();
  }
  commit_log.reset();
  file.reset();
}

template <class Body>
void TraceFile::Impl::guarded(Body body) {
  try {
    hdf5::require_room();
    const hdf5::Guard guard;
    body();
  } catch (const IoError& error) {
    failure = error;
    open = false;
    throw;
  } catch (const std::bad_alloc&) {
    failure = IoError(path + ": error: out of memory");
    open = false;
    throw;
  }
}

std::byte* TraceFile::Impl::add(TableIndex index, std::size_t size) {
  if (!open) [[unlikely]] {
    if (failure.has_value()) {
      throw IoError(*failure);
    }
    throw InternalError("a row for a trace that is closed");
  }
  ensure(index < tables.size(), "a row for a table that is not there");
  OpenTable& table = tables[index];
  if (table.buffer.whole()) [[unlikely]] {
    guarded([&] { write_chunk(table); });
  }
  return table.buffer.add(size);
}

// Writes the present chunk, whole or not, in the form the table's filters give it.
void TraceFile::Impl::write_chunk(OpenTable& table) {
  const hsize_t base = table.buffer.base();
  const TableBuffer::Taken taken = table.buffer.take();
  table.crc = crc_join(table.crc, taken.fresh_crc, taken.fresh_bytes);
  const std::span<const std::byte> stored =
      filters.apply(taken.planes, taken.rows, table.buffer.chunk_rows());
  extend(table.dataset.get(), table.buffer.taken(), path);
  const haddr_t end_before = hdf5::end_of(file.get(), path);
  hdf5::check(
      H5Dwrite_chunk(table.dataset.get(), H5P_DEFAULT, 0, &base, stored.size(), stored.data()),
      path, "write rows");
  // A whole chunk stays where it is; a partial one is written again, perhaps in its place.
  if (taken.rows == table.buffer.chunk_rows() &&
      hdf5::end_of(file.get(), path) == end_before + stored.size()) {
    written.add(path, end_before, stored);
  }
}

void TraceFile::Impl::write_chunks(bool with_tails) {
  for (OpenTable& table : tables) {
    if (table.buffer.whole() || (with_tails && table.buffer.rows() > table.buffer.taken())) {
      write_chunk(table);
    }
  }
}

bool TraceFile::Impl::has_news() const {
  return std::any_of(tables.begin(), tables.end(),
                     [](const OpenTable& table) { return table.has_news(); });
}

void TraceFile::Impl::write_commit(SimTime now) {
  const auto wall =
      std::chrono::duration_cast<std::chrono::milliseconds>(WallClock::now() - created);
  Commit commit{now, static_cast<std::uint64_t>(wall.count()), {}, 0};
  for (OpenTable& table : tables) {
    if (table.uncommitted() > 0) {
      hdf5::check(H5Dflush(table.dataset.get()), path, "flush rows");
    }
    commit.rows.push_back(table.buffer.taken());
    commit.crc = crc_join(commit.crc, table.crc, table.uncommitted() * table.buffer.row_bytes());
  }
  const std::vector<std::byte> row = layout.encode(commit);
  write_row(commit_log.get(), commit_type, commits, row.data(), path);
  hdf5::check(H5Dflush(commit_log.get()), path, "flush rows");
  ++commits;
  for (OpenTable& table : tables) {
    table.committed = table.buffer.taken();
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
  if (!tails_due && !has_news()) {
    return;
  }
  guarded([&] {
    write_chunks(tails_due);
    if (tails_due) {
      last_tail = wall;
    }
    if (has_news()) {
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
    write_chunks(true);
    write_commit(now);
    open = false;
    for (OpenTable& table : tables) {
      hdf5::check(table.dataset.reset(), path, "close a table");
      table.buffer.release();
    }
    hdf5::check(commit_log.reset(), path, "close a table");
    hdf5::check(file.reset(), path, "close the file");
  });
}

TraceFile::TraceFile(const std::string& path, std::vector<TableSpec> tables,
                     const Attributes& attributes, std::chrono::milliseconds tail_interval)
    : impl_(std::make_unique<Impl>(path, std::move(tables), attributes, tail_interval)) {}

TraceFile::~TraceFile() = default;

std::byte* TraceFile::add(TableIndex table, std::size_t size) {
  return impl_->add(table, size);
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

FileSum TraceFile::sum() const {
  ensure(!impl_->open && !impl_->failure, "the sum of a trace that is closed");
  return impl_->written.of(impl_->path);
}

const std::string& TraceFile::path() const {
  return impl_->path;
}

std::uint64_t TraceFile::rows(TableIndex table) const {
  ensure(table < impl_->tables.size(), "rows of a table that is not there");
  return impl_->tables[table].buffer.rows();
}

std::size_t TraceFile::buffered_bytes() const {
  std::size_t bytes = impl_->filters.resident_bytes();
  for (const OpenTable& table : impl_->tables) {
    bytes += table.buffer.resident_bytes();
  }
  return bytes;
}

std::size_t TraceFile::predicted_bytes(const std::vector<TableSpec>& tables) {
  std::size_t bytes = ChunkFilters::predicted_bytes();
  for (const TableSpec& spec : tables) {
    bytes += TableBuffer(spec).predicted_bytes();
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
