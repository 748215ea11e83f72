// The view of all ranks, read through HDF5 as any program would.
#include <gmock/gmock.h>
#include <hdf5.h>

#include <array>
#include <csignal>

#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/trace_file.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::index_test {
namespace {

using ::testing::HasSubstr;
constexpr std::array<std::uint64_t, 3> rows_of_rank{16'384 + 7, 0, 500};

void write_run(const std::string& folder) {
  for (int rank = 0; rank < 3; ++rank) {
    TraceFile file(folder + "/" + trace_name(rank, 3), {row_table("a"), row_table("none")},
                   {{"rank", std::to_string(rank)}, {"seed", "9"}});
    for (std::uint64_t i = 0; i < rows_of_rank[static_cast<std::size_t>(rank)]; ++i) {
      file.append(0, row_of(i, static_cast<std::uint32_t>(rank)));
    }
    file.close(SimTime::from_ps(1));
  }
}

// All of one dataset of the index; an empty optional of rows is a failed test.
template <class Record>
std::vector<Record> read_all(const std::string& path, const char* name) {
  std::vector<Record> rows;
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
  const hid_t space = H5Dget_space(dataset);
  const hid_t type = H5Dget_type(dataset);
  EXPECT_EQ(H5Tget_size(type), sizeof(Record));
  rows.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  if (!rows.empty()) {
    EXPECT_GE(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0);
  }
  H5Tclose(type);
  H5Sclose(space);
  H5Dclose(dataset);
  H5Fclose(file);
  return rows;
}

std::string text_attribute(const std::string& path, const char* object, const char* name) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  std::string text;
  if (H5Aexists_by_name(file, object, name, H5P_DEFAULT) > 0) {
    const hid_t attribute = H5Aopen_by_name(file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t type = H5Aget_type(attribute);
    text.resize(H5Tget_size(type));
    H5Aread(attribute, type, text.data());
    H5Tclose(type);
    H5Aclose(attribute);
  }
  H5Fclose(file);
  return text;
}

void expect_concatenation(const std::string& path) {
  const auto rows = read_all<Row>(path, "a");
  std::size_t at = 0;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    for (std::uint64_t i = 0; i < rows_of_rank[rank]; ++i, ++at) {
      ASSERT_LT(at, rows.size());
      ASSERT_EQ(rows[at], row_of(i, rank)) << "row " << at;
    }
  }
  EXPECT_EQ(at, rows.size());
  EXPECT_TRUE(read_all<Row>(path, "none").empty());
}

TEST(Index, ShowsAllRanksAsOneAndCanBeMoved) {
  const TempFolder folder;
  const std::string run = folder.file("run");
  std::filesystem::create_directory(run);
  write_run(run);
  write_index(run, 3);
  expect_concatenation(run + "/index.h5");
  EXPECT_FALSE(std::filesystem::exists(run + "/index.h5.tmp"));

  const std::string moved = folder.file("moved elsewhere");
  std::filesystem::rename(run, moved);
  expect_concatenation(moved + "/index.h5");
  write_index(moved, 3);  // once more over the old one
  expect_concatenation(moved + "/index.h5");
}

TEST(Index, SaysWhichRowsAreWhose) {
  struct Mapping {
    std::uint64_t rank, segment;
    std::array<char, 64> file;
    std::uint64_t first_a, rows_a, first_none, rows_none;
  };
  const TempFolder folder;
  write_run(folder.path());
  write_index(folder.path(), 3);
  const auto ranks = read_all<Mapping>(folder.file("index.h5"), "ranks");
  ASSERT_EQ(ranks.size(), 3U);
  std::uint64_t first = 0;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(ranks[rank].rank, rank);
    EXPECT_EQ(ranks[rank].segment, 0U);
    EXPECT_EQ(ranks[rank].file.data(), trace_name(static_cast<int>(rank), 3));
    EXPECT_EQ(ranks[rank].first_a, first);
    EXPECT_EQ(ranks[rank].rows_a, rows_of_rank[rank]);
    EXPECT_EQ(ranks[rank].rows_none, 0U);
    first += rows_of_rank[rank];
  }
}

TEST(Index, CopiesTheAttributes) {
  const TempFolder folder;
  write_run(folder.path());
  write_index(folder.path(), 3);
  const std::string path = folder.file("index.h5");
  EXPECT_EQ(text_attribute(path, ".", "file_type"), "tessera-index");
  EXPECT_EQ(text_attribute(path, ".", "format_version"), "1.9");
  EXPECT_EQ(text_attribute(path, ".", "seed"), "9");
  EXPECT_EQ(text_attribute(path, ".", "rank"), "") << "the index is of no rank";
  EXPECT_EQ(text_attribute(path, "a", "description"), "rows of a test");
  EXPECT_EQ(text_attribute(path, "a", "unit.negative"), "ps");
  EXPECT_EQ(text_attribute(path, "a", "description.rank"), "who wrote it");
}

struct NarrowRow {
  std::uint32_t place = 0;
  std::uint8_t port = 0;
};
struct WideRow {
  std::uint32_t place = 0;
  std::uint32_t port = 0;
};

template <class Record>
void write_ports(const std::string& path, const std::vector<Record>& rows) {
  TraceFile file(path,
                 {describe<Record>("ports", "rows of a test",
                                   {field("place", &Record::place, "", "where"),
                                    field("port", &Record::port, "", "which")})},
                 {});
  for (const Record& row : rows) {
    file.append(0, row);
  }
  file.close(SimTime::zero());
}

TEST(Index, ShowsNarrowerFieldsOfEarlierFormatsAsThoseOfLaterOnes) {
  const TempFolder folder;
  write_ports<NarrowRow>(folder.file(trace_name(0, 2)), {{1, 250}, {2, 3}});
  write_ports<WideRow>(folder.file(trace_name(1, 2)), {{3, 300}});
  write_index(folder.path(), 2);
  const auto rows = read_all<WideRow>(folder.file("index.h5"), "ports");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].port, 250U);
  EXPECT_EQ(rows[1].port, 3U);
  EXPECT_EQ(rows[1].place, 2U);
  EXPECT_EQ(rows[2].port, 300U);
}

TEST(Index, RefusesWhatItWouldShowAsZeros) {
  const TempFolder folder;
  write_run(folder.path());
  const std::string last = folder.file(trace_name(2, 3));
  std::filesystem::remove(last);
  const auto message = [&] { return message_of<IoError>([&] { write_index(folder.path(), 3); }); };
  EXPECT_THAT(message(), HasSubstr(last + ": error: cannot open the file"));

  // A trace whose writer was killed after a commit.
  EXPECT_EQ(
      wait_for(start_child([&] {
        TraceFile file(last, {row_table("a"), row_table("none")}, {}, std::chrono::milliseconds(0));
        file.append(0, row_of(0, 2));
        file.commit(SimTime::zero());
        ::raise(SIGKILL);
        return 0;
      })),
      128 + SIGKILL);
  EXPECT_THAT(message(), HasSubstr("was not closed by its writer"));

  std::filesystem::remove(last);
  TraceFile(last, {row_table("a")}, {}).close(SimTime::zero());
  EXPECT_THAT(message(), HasSubstr("has other tables than rank 0"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("index.h5")));
}

}  // namespace
}  // namespace tessera::trace::test::index_test
