#include "store/commit_log.hpp"

#include <algorithm>
#include <cstring>

#include "tessera/core/digest.hpp"

namespace tessera::trace {
namespace {

// Offsets in a row; the array of row counts stands between.
constexpr std::size_t time_at = 0;
constexpr std::size_t wall_at = 8;
constexpr std::size_t rows_at = 16;
constexpr std::size_t crc_from_end = 8;
constexpr std::size_t row_crc_from_end = 4;

template <class Value>
void put(std::byte* place, Value value) {
  std::memcpy(place, &value, sizeof(Value));
}

template <class Value>
Value get(const std::byte* place) {
  Value value;
  std::memcpy(&value, place, sizeof(Value));
  return value;
}

}  // namespace

hsize_t CommitLayout::chunk_rows() const {
  constexpr std::size_t page = 4096;
  return std::max<hsize_t>(page / row_bytes(), 1);
}

hdf5::Type CommitLayout::type(const std::string& path) const {
  const hsize_t count = tables_;
  const hdf5::Type counts(
      hdf5::check(H5Tarray_create2(H5T_STD_U64LE, 1, &count), path, "make the commit type"));
  hdf5::Type type(hdf5::check(H5Tcreate(H5T_COMPOUND, row_bytes()), path, "make the commit type"));
  const auto insert = [&](const char* name, std::size_t offset, hid_t member) {
    hdf5::check(H5Tinsert(type.get(), name, offset, member), path, "make the commit type");
  };
  insert("time", time_at, H5T_STD_I64LE);
  insert("wall_time", wall_at, H5T_STD_U64LE);
  insert("rows", rows_at, counts.get());
  insert("crc32c", row_bytes() - crc_from_end, H5T_STD_U32LE);
  insert("row_crc32c", row_bytes() - row_crc_from_end, H5T_STD_U32LE);
  return type;
}

void CommitLayout::write_attributes(hid_t dataset, const std::vector<std::string>& tables,
                                    const std::string& path) {
  const auto describe_field = [&](const std::string& name, const char* unit, const char* text) {
    hdf5::write_text(dataset, "unit." + name, unit, path);
    hdf5::write_text(dataset, "description." + name, text, path);
  };
  hdf5::write_text(dataset, "description",
                   "one row a commit; the last good one says which rows of the tables are good",
                   path);
  describe_field("time", "ps", "simulated time of the commit");
  describe_field("wall_time", "ms", "wall time since the file was created");
  describe_field("rows", "", "good rows of each table, in the order of attribute 'tables'");
  describe_field("crc32c", "",
                 "CRC-32C of the bytes of the rows new since the commit before, table after table");
  describe_field("row_crc32c", "", "CRC-32C of the bytes of this row before this field");
  hdf5::write_texts(dataset, "tables", tables, path);
}

std::vector<std::byte> CommitLayout::encode(const Commit& commit) const {
  std::vector<std::byte> row(row_bytes());
  put(row.data() + time_at, commit.time.ps());
  put(row.data() + wall_at, commit.wall_ms);
  std::memcpy(row.data() + rows_at, commit.rows.data(), 8 * tables_);
  put(row.data() + row.size() - crc_from_end, commit.crc);
  const std::size_t covered = row.size() - row_crc_from_end;
  put(row.data() + covered, crc32c(row.data(), covered));
  return row;
}

std::optional<Commit> CommitLayout::decode(const std::byte* row) const {
  const std::size_t covered = row_bytes() - row_crc_from_end;
  if (crc32c(row, covered) != get<std::uint32_t>(row + covered)) {
    return std::nullopt;
  }
  Commit commit;
  commit.time = SimTime::from_ps(get<std::int64_t>(row + time_at));
  commit.wall_ms = get<std::uint64_t>(row + wall_at);
  commit.rows.resize(tables_);
  std::memcpy(commit.rows.data(), row + rows_at, 8 * tables_);
  commit.crc = get<std::uint32_t>(row + row_bytes() - crc_from_end);
  return commit;
}

}  // namespace tessera::trace
