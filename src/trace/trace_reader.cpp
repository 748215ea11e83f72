#include <fcntl.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>
#include <optional>

#include "schema.hpp"
#include "store/commit_log.hpp"
#include "store/hdf5_support.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {
namespace {

// What the first bytes of the file say; looked at before HDF5 sees the file, because it does not
// come back from a file that ends inside them.
struct Superblock {
  bool writing = false;    // its writer has not closed it
  bool appending = false;  // … and has begun to append
};

// Reads the head of a file with a superblock of version 3, the only one the writer makes. Section
// II.A of the HDF5 file format specification, version 3.0. Throws IoError, also when a file that
// was closed is shorter than it says.
Superblock read_superblock(const std::string& path) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  constexpr std::size_t version_at = 8;
  constexpr std::size_t flags_at = 11;
  constexpr std::size_t end_of_file_at = 28;
  std::array<char, 48> head{};
  const Descriptor file(path, O_RDONLY);
  if (file.read_at(0, head) < head.size() ||
      std::string_view(head.data(), signature.size()) != signature || head[version_at] != 3) {
    throw IoError(path + ": error: is not a trace of Tessera");
  }
  const auto flags = static_cast<unsigned char>(head[flags_at]);
  const Superblock superblock{(flags & 1U) != 0, (flags & 4U) != 0};
  std::uint64_t stored_size = 0;
  std::memcpy(&stored_size, head.data() + end_of_file_at, sizeof(stored_size));
  const std::uint64_t size = std::filesystem::file_size(path);
  if (!superblock.writing && size < stored_size) {
    throw IoError(path + ": error: damaged: has " + std::to_string(size) + " bytes instead of " +
                  std::to_string(stored_size));
  }
  return superblock;
}

// `writing`: somebody may go on to write it. Else a damaged part is read once, not again and again:
// it may say that it has gigabytes.
hdf5::ReadFile open_file(const std::string& path, bool writing) {
  const hdf5::Properties access = hdf5::file_access(path);
  if (!writing) {
    return hdf5::ReadFile(
        hdf5::check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path, "open the file"));
  }
  // In this mode HDF5 reads a part again when its checksum differs, for its writer may be about to
  // write it, and waits 1 ns, 2 ns, 4 ns, … between. Its own limit of 100 times would never end.
  constexpr unsigned attempts = 24;  // 17 ms in all
  hdf5::check(H5Pset_metadata_read_attempts(access.get(), attempts), path,
              "set the access properties");
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access.get());
  if (file >= 0) {
    return hdf5::ReadFile(file);
  }
  return hdf5::ReadFile(
      hdf5::check(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), path, "open the file"));
}

extern "C" herr_t tessera_trace_take_name(hid_t, const char* name, const H5A_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

std::string lacks_rows(const std::string& table) {
  return "table '" + table + "' does not have its rows";
}

struct StoredTable {
  TableSpec spec;
  std::uint64_t good = 0;
  bool is_whole = true;  // as far as was looked
  hdf5::ReadDataset dataset;
  hdf5::Type type;
};

}  // namespace

struct TraceReader::Impl {
  Impl(const std::string& file_path, Trust what);

  std::string root_text(const std::string& name) const;
  void check_format() const;
  // Those that can be read, in order, with their places among all of them.
  struct PlacedCommit : Commit {
    std::uint64_t place = 0;
  };
  std::vector<PlacedCommit> read_commits();
  void open_tables(const std::vector<std::string>& names);
  void trust_last(const std::vector<PlacedCommit>& commits);
  void verify(const std::vector<PlacedCommit>& commits);
  // What is readable behind the first `met` commits.
  void salvage(const std::vector<PlacedCommit>& commits, std::size_t met);
  // Takes rows up to those of `commit` from every table that has been whole so far.
  void take_chunks(const std::vector<std::uint64_t>& rows, std::uint32_t& crc);
  // The end of the rows from the good ones on to `end` whose chunks can be read; goes on with
  // `crc` over them.
  std::uint64_t readable_end(const StoredTable& table, std::uint64_t end, std::uint32_t& crc);
  void note_damage(const std::string& what);
  // Whether the table can have as many rows, as far as sizes say.
  bool can_have(const StoredTable& table, std::uint64_t rows) const;
  // Why `commit`, which follows the rows known to be good, is not to be believed; "" if it is.
  std::string fault_of(const Commit& commit) const;
  void accept(const Commit& commit);
  // As rows of type `wanted`.
  void read_rows(const StoredTable& table, hid_t wanted, std::uint64_t first, std::uint64_t count,
                 std::byte* bytes) const;
  // CRC-32C of rows [first, end) as a continuation of `crc`, a mebibyte at a time.
  std::uint32_t crc_of_rows(const StoredTable& table, std::uint64_t first, std::uint64_t end,
                            std::uint32_t crc) const;
  const StoredTable& table(std::string_view name) const;

  std::string path;
  Trust trust;
  Superblock superblock;
  hdf5::ReadFile file;
  std::vector<StoredTable> tables;
  SimTime time;
  std::string damage;
};

TraceReader::Impl::Impl(const std::string& file_path, Trust what)
    : path(file_path), trust(what), superblock(read_superblock(path)) {
  if (superblock.writing && !superblock.appending) {
    throw IoError(path + ": error: holds no rows: its writer ended while it created the file");
  }
  const hdf5::Guard guard;
  file = open_file(path, superblock.writing);
  check_format();
  // Commits before tables: while the file grows, rows are there before the commit that covers them.
  const std::vector<PlacedCommit> commits = read_commits();
  if (trust == Trust::commits) {
    trust_last(commits);
  } else {
    verify(commits);
  }
}

std::string TraceReader::Impl::root_text(const std::string& name) const {
  const std::vector<std::string> texts = hdf5::read_texts(file.get(), name, path);
  return texts.empty() ? "" : texts.front();
}

void TraceReader::Impl::check_format() const {
  if (root_text("file_type") != trace_file_type) {
    throw IoError(path + ": error: is not a trace of Tessera");
  }
  const std::string version = root_text("format_version");
  if (!version.starts_with(readable_versions)) {
    throw IoError(path + ": error: has format version '" + version + "'; this program reads " +
                  std::string(readable_versions) + "x");
  }
}

// All commits up to the first that is torn, or without those that are; opens the tables too.
std::vector<TraceReader::Impl::PlacedCommit> TraceReader::Impl::read_commits() {
  const hdf5::ReadDataset log(
      hdf5::check(H5Dopen2(file.get(), commit_name, H5P_DEFAULT), path, "open the commits"));
  const std::vector<std::string> names = hdf5::read_texts(log.get(), "tables", path);
  const CommitLayout layout(names.size());
  const hdf5::Type type(hdf5::check(H5Dget_type(log.get()), path, "read the commits' type"));
  const bool expected = !names.empty() && H5Tequal(type.get(), layout.type(path).get()) > 0;
  if (!expected) {
    throw IoError(path + ": error: damaged: the commits do not have the form of this format");
  }
  const hsize_t count = hdf5::extent(log.get(), path);
  open_tables(names);
  std::vector<PlacedCommit> commits;
  constexpr hsize_t block = 1024;
  std::vector<std::byte> rows(block * layout.row_bytes());
  for (hsize_t first = 0; first < count; first += block) {
    const hsize_t size = std::min(block, count - first);
    const hdf5::Space memory(
        hdf5::check(H5Screate_simple(1, &size, nullptr), path, "read the commits"));
    const hdf5::Space source = hdf5::select_rows(log.get(), first, size, path);
    hdf5::check(
        H5Dread(log.get(), type.get(), memory.get(), source.get(), H5P_DEFAULT, rows.data()), path,
        "read the commits");
    for (hsize_t row = 0; row < size; ++row) {
      const std::byte* start = rows.data() + row * layout.row_bytes();
      std::optional<Commit> commit = layout.decode(start);
      if (commit.has_value()) {
        commits.push_back({*std::move(commit), first + row});
        continue;
      }
      // All zeros: the writer was killed between extending the table and writing the row.
      const bool torn = std::any_of(start, start + layout.row_bytes(),
                                    [](std::byte byte) { return byte != std::byte{0}; });
      note_damage(torn ? "commit " + std::to_string(first + row) + " is damaged" : "");
      if (trust != Trust::chunks) {
        return commits;
      }
    }
  }
  return commits;
}

void TraceReader::Impl::note_damage(const std::string& what) {
  if (damage.empty()) {
    damage = what;
  }
}

// Under Trust::chunks a table that cannot be opened is as today's program would write it.
void TraceReader::Impl::open_tables(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    StoredTable table;
    try {
      table.dataset = hdf5::ReadDataset(
          hdf5::check(H5Dopen2(file.get(), name.c_str(), H5P_DEFAULT), path, "open a table"));
      table.type =
          hdf5::Type(hdf5::check(H5Dget_type(table.dataset.get()), path, "read a table's type"));
      table.spec = read_schema(table.dataset.get(), name, path);
    } catch (const IoError& error) {
      const std::vector<TableSpec> known = trace::tables();
      const auto found = std::ranges::find(known, name, &TableSpec::name);
      if (trust != Trust::chunks || found == known.end()) {
        throw;
      }
      table.spec = *found;
      table.is_whole = false;
      note_damage(error.what());
    }
    tables.push_back(std::move(table));
  }
}

void TraceReader::Impl::accept(const Commit& commit) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    tables[i].good = commit.rows[i];
  }
  time = commit.time;
}

void TraceReader::Impl::trust_last(const std::vector<PlacedCommit>& commits) {
  if (!damage.empty()) {
    throw IoError(path + ": error: damaged: " + damage);
  }
  if (commits.empty()) {
    return;
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (!can_have(tables[i], commits.back().rows[i])) {
      throw IoError(path + ": error: damaged: " + lacks_rows(tables[i].spec.name));
    }
  }
  accept(commits.back());
}

void TraceReader::Impl::verify(const std::vector<PlacedCommit>& commits) {
  for (std::size_t i = 0; i < commits.size(); ++i) {
    const bool follows = commits[i].place == i;
    const std::string fault = follows ? fault_of(commits[i]) : "the one before is damaged";
    if (!fault.empty()) {
      note_damage("commit " + std::to_string(commits[i].place) + " is not met: " + fault);
      if (trust == Trust::chunks) {
        return salvage(commits, i);
      }
      if (i == 0) {
        throw IoError(path + ": error: damaged: " + damage);
      }
      return;
    }
    accept(commits[i]);
  }
  if (trust == Trust::chunks) {
    return salvage(commits, commits.size());
  }
  if (commits.empty() && !damage.empty()) {
    throw IoError(path + ": error: damaged: " + damage);
  }
}

void TraceReader::Impl::salvage(const std::vector<PlacedCommit>& commits, std::size_t met) {
  std::uint64_t next = met;  // place of the commit whose CRC-32C goes on from the good rows
  for (std::size_t i = met; i < commits.size(); ++i) {
    std::vector<std::uint64_t> before(tables.size());
    std::ranges::transform(tables, before.begin(), &StoredTable::good);
    std::uint32_t crc = 0;
    take_chunks(commits[i].rows, crc);
    if (std::ranges::all_of(tables, &StoredTable::is_whole) && commits[i].place == next &&
        crc != commits[i].crc) {
      // Some rows are wrong though their chunks say otherwise, and nothing says which.
      for (std::size_t table = 0; table < tables.size(); ++table) {
        tables[table].good = before[table];
      }
      return;
    }
    next = commits[i].place + 1;
    time = commits[i].time;
  }
  // Of a file that was closed, all rows were committed.
  if (!superblock.writing) {
    std::vector<std::uint64_t> ends;
    for (const StoredTable& table : tables) {
      ends.push_back(table.is_whole ? hdf5::extent(table.dataset.get(), path) : 0);
    }
    std::uint32_t crc = 0;
    take_chunks(ends, crc);
  }
}

void TraceReader::Impl::take_chunks(const std::vector<std::uint64_t>& rows, std::uint32_t& crc) {
  for (std::size_t i = 0; i < tables.size(); ++i) {
    StoredTable& table = tables[i];
    if (!table.is_whole) {
      continue;
    }
    table.good = readable_end(table, rows[i], crc);
    table.is_whole = table.good == rows[i];
  }
}

std::uint64_t TraceReader::Impl::readable_end(const StoredTable& table, std::uint64_t end,
                                              std::uint32_t& crc) {
  std::uint64_t first = table.good;
  try {
    if (end < first || !can_have(table, end)) {
      note_damage(lacks_rows(table.spec.name));
      return first;
    }
    const hdf5::Properties creation(
        hdf5::check(H5Dget_create_plist(table.dataset.get()), path, "read a table's chunks"));
    hsize_t chunk = 0;
    hdf5::check(H5Pget_chunk(creation.get(), 1, &chunk), path, "read a table's chunks");
    while (first < end) {
      const std::uint64_t stop = std::min<std::uint64_t>(end, first + chunk - first % chunk);
      crc = crc_of_rows(table, first, stop, crc);
      first = stop;
    }
  } catch (const IoError& error) {
    note_damage(error.what());
  }
  return first;
}

// An extent may say anything, and rows that no chunk holds are read as zeros: what has room in the
// file counts, too.
bool TraceReader::Impl::can_have(const StoredTable& table, std::uint64_t rows) const {
  return rows <= hdf5::extent(table.dataset.get(), path) &&
         rows <= hdf5::unpacked_bytes_at_most(path) / table.spec.row_bytes;
}

std::string TraceReader::Impl::fault_of(const Commit& commit) const {
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const StoredTable& table = tables[i];
    if (!table.is_whole || commit.rows[i] < table.good || !can_have(table, commit.rows[i])) {
      return lacks_rows(table.spec.name);
    }
    try {
      crc = crc_of_rows(table, table.good, commit.rows[i], crc);
    } catch (const IoError& error) {
      return error.what();
    }
  }
  return crc == commit.crc ? "" : "the CRC-32C of its rows differs";
}

void TraceReader::Impl::read_rows(const StoredTable& table, hid_t wanted, std::uint64_t first,
                                  std::uint64_t count, std::byte* bytes) const {
  if (count == 0) {
    return;
  }
  hdf5::require_room();
  const hsize_t size = count;
  const hdf5::Space memory(hdf5::check(H5Screate_simple(1, &size, nullptr), path, "read rows"));
  const hdf5::Space source = hdf5::select_rows(table.dataset.get(), first, count, path);
  hdf5::check(H5Dread(table.dataset.get(), wanted, memory.get(), source.get(), H5P_DEFAULT, bytes),
              path, "read rows");
}

std::uint32_t TraceReader::Impl::crc_of_rows(const StoredTable& table, std::uint64_t first,
                                             std::uint64_t end, std::uint32_t crc) const {
  const std::size_t row_bytes = table.spec.row_bytes;
  // A power of two as in the writer, so that pieces end where chunks do.
  const std::uint64_t most =
      std::bit_floor(std::max<std::uint64_t>((std::uint64_t{1} << 20) / row_bytes, 1));
  std::vector<std::byte> rows(std::min(most, end - first) * row_bytes);
  while (first < end) {
    const std::uint64_t count = std::min(most - first % most, end - first);
    read_rows(table, table.type.get(), first, count, rows.data());
    crc = crc32c(rows.data(), count * row_bytes, crc);
    first += count;
  }
  return crc;
}

const StoredTable& TraceReader::Impl::table(std::string_view name) const {
  std::vector<std::string> names;
  for (const StoredTable& table : tables) {
    if (table.spec.name == name) {
      return table;
    }
    names.push_back(table.spec.name);
  }
  throw IoError(path + ": error: " + unknown_name("table", name, names));
}

TraceReader::TraceReader(const std::string& path, Trust trust)
    : impl_(std::make_unique<Impl>(path, trust)) {}

TraceReader::~TraceReader() = default;

std::vector<std::string> TraceReader::table_names() const {
  std::vector<std::string> names;
  for (const StoredTable& table : impl_->tables) {
    names.push_back(table.spec.name);
  }
  return names;
}

std::string TraceReader::attribute(std::string_view name) const {
  const hdf5::Guard guard;
  return impl_->root_text(std::string(name));
}

Attributes TraceReader::attributes() const {
  const hdf5::Guard guard;
  std::vector<std::string> names;
  hsize_t position = 0;
  hdf5::check(H5Aiterate2(impl_->file.get(), H5_INDEX_NAME, H5_ITER_INC, &position,
                          tessera_trace_take_name, &names),
              impl_->path, "list the attributes");
  Attributes attributes;
  for (const std::string& name : names) {
    attributes.emplace_back(name, impl_->root_text(name));
  }
  return attributes;
}

const TableSpec& TraceReader::spec(std::string_view table) const {
  return impl_->table(table).spec;
}

ReadTable TraceReader::read(std::string_view table) const {
  return read(table, 0, committed_rows(table));
}

ReadTable TraceReader::read(std::string_view table, std::uint64_t first,
                            std::uint64_t count) const {
  const StoredTable& source = impl_->table(table);
  const std::uint64_t begin = std::min(first, source.good);
  ReadTable result{source.spec, std::min(count, source.good - begin), {}};
  result.bytes.resize(result.rows * source.spec.row_bytes);
  const hdf5::Guard guard;
  impl_->read_rows(source, source.type.get(), begin, result.rows, result.bytes.data());
  return result;
}

ReadTable TraceReader::read_as(const TableSpec& wanted, std::uint64_t first,
                               std::uint64_t count) const {
  const StoredTable& source = impl_->table(wanted.name);
  const std::uint64_t begin = std::min(first, source.good);
  ReadTable result{wanted, std::min(count, source.good - begin), {}};
  result.bytes.resize(result.rows * wanted.row_bytes);
  const hdf5::Guard guard;
  const hdf5::Type type = row_type(wanted, impl_->path);
  impl_->read_rows(source, type.get(), begin, result.rows, result.bytes.data());
  return result;
}

std::uint64_t TraceReader::committed_rows(std::string_view table) const {
  return impl_->table(table).good;
}

SimTime TraceReader::committed_time() const {
  return impl_->time;
}

bool TraceReader::closed() const {
  return !impl_->superblock.writing;
}

const std::string& TraceReader::damage() const {
  return impl_->damage;
}

}  // namespace tessera::trace
