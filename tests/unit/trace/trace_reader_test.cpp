// Files that are no trace, or no longer the trace that was written.
//
// HDF5 may crash or loop on a file changed behind its back, so each such file is opened in a child
// with a time limit. Users are guarded by the manifest, which is checked before the file is opened.
#include <gmock/gmock.h>
#include <hdf5.h>

#include <cstring>
#include <span>

#include "tessera/core/digest.hpp"
#include "tessera/trace/checkpoint.hpp"
#include "tessera/trace/trace_file.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::trace_reader_test {
namespace {

using ::testing::HasSubstr;
constexpr std::uint64_t chunk = 16'384;
constexpr std::uint64_t row_count = 2 * chunk + 500;

// A trace of three commits.
void write_trace(const std::string& path) {
  TraceFile file(path, {row_table("a")}, {}, std::chrono::hours(1));
  for (std::uint64_t i = 0; i < row_count; ++i) {
    file.append(0, row_of(i));
    file.commit(SimTime::from_ps(static_cast<std::int64_t>(i)));
  }
  file.close(SimTime::from_ps(row_count));
}

std::string opening(const std::string& path) {
  return message_of<IoError>([&] { const TraceReader reader(path); });
}

enum Outcome : int { read_all = 10, read_less = 11, refused = 12, read_wrong = 13 };

int try_to_read(const std::string& path) {
  try {
    const TraceReader reader(path);
    const ReadTable rows = reader.read("a");
    if (first_wrong_row(rows) != rows.rows) {
      return read_wrong;
    }
    return rows.rows == row_count ? read_all : read_less;
  } catch (const IoError& error) {
    return std::string(error.what()).find(path + ": error: ") == 0 ? refused : read_wrong;
  }
}

int try_in_child(const std::string& path) {
  return wait_for(start_child([&] { return try_to_read(path); }, 5));
}

TEST(TraceReader, RefusesWhatIsNoTrace) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  EXPECT_EQ(opening(path),
            path + ": error: cannot open the file: No such file or directory (errno 2)");
  const std::string not_a_trace = path + ": error: is not a trace of Tessera";
  for (const std::string& contents :
       {std::string(), std::string("garbage"), std::string(100'000, 'g'),
        std::string("\x89HDF\r\n\x1a\n\0\0\0\0\0\0\0\0", 16)}) {
    write_contents(path, contents);
    EXPECT_EQ(opening(path), not_a_trace);
  }
  EXPECT_NE(opening(folder.path()), "");
}

// Makes an HDF5 file with root attributes, as another program might.
void write_foreign(const std::string& path, const Attributes& attributes) {
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110);
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  for (const auto& [name, text] : attributes) {
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, text.size());
    const hid_t space = H5Screate(H5S_SCALAR);
    const hid_t attribute = H5Acreate2(file, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT);
    H5Awrite(attribute, type, text.data());
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
  }
  H5Pclose(access);
  H5Fclose(file);
}

TEST(TraceReader, RefusesOtherFormats) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  write_foreign(path, {});
  EXPECT_EQ(opening(path), path + ": error: is not a trace of Tessera");
  write_foreign(path, {{"file_type", "tessera-trace"}, {"format_version", "2.0"}});
  EXPECT_EQ(opening(path), path + ": error: has format version '2.0'; this program reads 1.x");
  for (const char* version : {"x", "1", "11.0", "-1.0", "999999999999.0"}) {
    write_foreign(path, {{"file_type", "tessera-trace"}, {"format_version", version}});
    EXPECT_THAT(opening(path), HasSubstr("format version")) << version;
  }
  // A newer minor is tolerated: the complaint is about what is missing.
  write_foreign(path, {{"file_type", "tessera-trace"}, {"format_version", "1.9"}});
  EXPECT_THAT(opening(path), HasSubstr("cannot open the commits"));
}

TEST(TraceReader, NamesAnUnknownTable) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  TraceFile(path, {row_table("operators")}, {}).close(SimTime::zero());
  const TraceReader reader(path);
  EXPECT_EQ(reader.committed_rows("operators"), 0U);
  EXPECT_EQ(reader.read("operators").rows, 0U);
  EXPECT_THAT(message_of<IoError>([&] { reader.read("operator"); }),
              HasSubstr("did you mean 'operators'"));
}

TEST(TraceReader, RefusesATruncatedFile) {
  const TempFolder folder;
  const std::string whole = folder.file("whole.h5");
  write_trace(whole);
  ASSERT_EQ(try_to_read(whole), read_all);
  const std::string contents = contents_of(whole);
  const std::size_t size = contents.size();
  const std::string path = folder.file("short.h5");
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, std::size_t{11}, std::size_t{12}, std::size_t{47},
        std::size_t{48}, std::size_t{1'000}, std::size_t{4'000}, std::size_t{20'000}, size / 4,
        size / 2, size - 10'000, size - 1}) {
    write_contents(path, contents.substr(0, length));
    EXPECT_EQ(try_in_child(path), refused) << "cut to " << length << " of " << size;
  }
}

TEST(TraceReader, StopsBeforeADamagedChunk) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  write_trace(path);
  // The chunk cannot be told from the file; so every place gets its turn, a few at a time.
  const std::string contents = contents_of(path);
  int fewer = 0;
  for (std::size_t place = 60'000; place < contents.size(); place += contents.size() / 16) {
    std::string damaged = contents;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x20);
    write_contents(path, damaged);
    const int outcome = try_in_child(path);
    // A place that holds nothing may be read all the same; a wrong row never.
    EXPECT_THAT(outcome, ::testing::AnyOf(read_all, read_less, refused)) << "at " << place;
    fewer += outcome == read_all ? 0 : 1;
  }
  EXPECT_GT(fewer, 8) << "most of the file is rows";
}

TEST(TraceReader, SaysWhyCommitsAreNotBelieved) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  write_trace(path);
  // The rows of the last commit, changed through HDF5, so that its own checksums agree.
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, "a", H5P_DEFAULT);
  const hsize_t first = 2 * chunk + 3;
  const hsize_t one = 1;
  const hid_t memory = H5Screate_simple(1, &one, nullptr);
  const hid_t target = H5Dget_space(dataset);
  H5Sselect_hyperslab(target, H5S_SELECT_SET, &first, nullptr, &one, nullptr);
  const hid_t type = H5Dget_type(dataset);
  const Row forged = row_of(1);
  ASSERT_GE(H5Dwrite(dataset, type, memory, target, H5P_DEFAULT, &forged), 0);
  H5Tclose(type);
  H5Sclose(target);
  H5Sclose(memory);
  H5Dclose(dataset);
  H5Fclose(file);

  const TraceReader reader(path);
  EXPECT_EQ(reader.committed_rows("a"), 2 * chunk);
  EXPECT_EQ(reader.damage(), "commit 2 is not met: the CRC-32C of its rows differs");
  EXPECT_EQ(TraceReader(path, Trust::commits).committed_rows("a"), row_count);
}

// Makes a table longer, without a chunk for its new elements, which HDF5 then reads as zeros.
void extend(hid_t file, const char* name, hsize_t elements) {
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  EXPECT_GE(H5Dset_extent(dataset, &elements), 0) << name;
  H5Dclose(dataset);
}

// A commit as the format has it, of a file with one table.
std::vector<std::byte> commit_of(std::uint64_t rows, std::uint32_t rows_crc) {
  constexpr std::size_t rows_at = 16;
  std::vector<std::byte> row(32);
  std::memcpy(row.data() + rows_at, &rows, sizeof(rows));
  std::memcpy(row.data() + rows_at + 8, &rows_crc, sizeof(rows_crc));
  const std::uint32_t crc = crc32c(row.data(), 28);
  std::memcpy(row.data() + 28, &crc, sizeof(crc));
  return row;
}

// Sums that are right, and an extent as large: nobody reads zeros for months, or asks for memory
// that there is not.
TEST(TraceReader, RefusesRowsThatTheFileHasNoRoomFor) {
  constexpr hsize_t many = hsize_t{1} << 50;
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  {
    TraceFile trace(path, {row_table("a")}, {});
    trace.append(0, row_of(0));
    trace.close(SimTime::zero());
  }
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  extend(file, "a", many);
  const hid_t commits = H5Dopen2(file, "commit", H5P_DEFAULT);
  const hid_t type = H5Dget_type(commits);
  ASSERT_EQ(H5Tget_size(type), 32U);
  const hid_t all = H5Dget_space(commits);
  ASSERT_EQ(H5Sget_simple_extent_npoints(all), 1);
  ASSERT_GE(H5Dwrite(commits, type, all, all, H5P_DEFAULT, commit_of(many, 7).data()), 0);
  H5Sclose(all);
  H5Tclose(type);
  H5Dclose(commits);
  H5Fclose(file);

  for (const Trust trust : {Trust::rows, Trust::commits}) {
    const auto is_refused = [&] {
      const std::string said = message_of<IoError>([&] { const TraceReader reader(path, trust); });
      return said.find(": error: damaged: ") != std::string::npos &&
             said.find("table 'a' does not have its rows") != std::string::npos;
    };
    EXPECT_EQ(wait_for(start_child([&] { return is_refused() ? refused : read_wrong; }, 5)),
              refused)
        << static_cast<int>(trust);
  }
}

void write_checkpoint(const std::string& path) {
  CheckpointWriter writer(path, 24);
  const std::vector<std::byte> bytes(24, std::byte{5});
  writer.add_entity(EntityId(3), bytes);
  writer.add_event(bytes);
  writer.finish(bytes, bytes);
}

void read_checkpoint_file(const std::string& path) {
  const CheckpointReader reader(path);
  reader.visit_entities([](EntityId) { return true; }, [](EntityId, std::span<const std::byte>) {});
  reader.visit_events([](std::span<const std::byte>) {});
  reader.engine_totals();
  reader.run_totals();
}

TEST(CheckpointReader, RefusesWhatTheFileHasNoRoomFor) {
  const TempFolder folder;
  for (const char* table : {"entities", "events", "engine_totals", "run_totals"}) {
    const std::string path = folder.file(table);
    write_checkpoint(path);
    EXPECT_EQ(message_of<IoError>([&] { read_checkpoint_file(path); }), "");
    const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    extend(file, table, hsize_t{1} << 50);
    H5Fclose(file);
    EXPECT_EQ(message_of<IoError>([&] { read_checkpoint_file(path); }),
              path + ": error: damaged: its parts do not fit together");
  }
}

// Text of no fixed length is read as pointers.
TEST(CheckpointReader, RefusesEventsThatAreNoBytes) {
  const TempFolder folder;
  const std::string path = folder.file("c.h5");
  write_checkpoint(path);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(file, "events", H5P_DEFAULT);
  const hid_t type = H5Tcopy(H5T_C_S1);
  H5Tset_size(type, H5T_VARIABLE);
  const hsize_t one = 1;
  const hid_t space = H5Screate_simple(1, &one, nullptr);
  const hid_t events =
      H5Dcreate2(file, "events", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  ASSERT_GE(events, 0);
  H5Dclose(events);
  H5Sclose(space);
  H5Tclose(type);
  H5Fclose(file);
  EXPECT_THAT(message_of<IoError>([&] { read_checkpoint_file(path); }),
              HasSubstr("its parts do not fit together"));
}

}  // namespace
}  // namespace tessera::trace::test::trace_reader_test
