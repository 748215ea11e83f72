// What is kept of a trace of several tables and commits in which one bit is wrong.
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/store/segment.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::damaged_chunks_test {
namespace {

using namespace test;

constexpr std::array<const char*, 3> names{"a", "b", "c"};
constexpr std::uint64_t chunk = 16'384;
constexpr std::uint64_t commits = 3;
constexpr std::uint64_t rows = commits * chunk + 100;

// Each commit is of a chunk of every table; the last also of what is over.
std::string write_trace(const std::string& path) {
  TraceFile file(path, {row_table("a"), row_table("b"), row_table("c")}, {{"rank", "0"}});
  for (std::uint64_t row = 0; row < rows; ++row) {
    for (TableIndex table = 0; table < names.size(); ++table) {
      file.append(table, row_of(row));
    }
    if (row % chunk == chunk - 1) {
      file.commit(SimTime::from_ps(static_cast<std::int64_t>(row)));
    }
  }
  file.close(SimTime::from_ps(static_cast<std::int64_t>(rows)));
  return contents_of(path);
}

TracePart expected_part() {
  std::vector<Segment> segments(1);
  segments[0].rows = {{{"a", rows}, {"b", rows}, {"c", rows}}};
  return trace_parts(segments).front();
}

// What is kept of the trace with a bit flipped at `place`; all of it must be as it was written.
SettledTrace settled_with_flip(const std::string& path, const std::string& folder,
                               std::string content, std::size_t place) {
  content[place] = static_cast<char>(static_cast<unsigned char>(content[place]) ^ 0x10U);
  write_contents(path, content);
  SettledTrace settled = settle_trace(folder, expected_part(), Losses::accepted, {{"rank", "0"}});
  const TraceReader reader(path);
  for (const char* const name : names) {
    if (!settled.rows.contains(name)) {
      continue;  // the tables of a run's trace instead of these, which are none
    }
    const ReadTable table = reader.read(name);
    EXPECT_EQ(table.rows, settled.rows.at(name)) << place;
    EXPECT_EQ(first_wrong_row(table), table.rows) << place;
  }
  return settled;
}

TEST(DamagedChunks, OfOtherTablesAllRowsStay) {
  const TempFolder folder;
  const std::string path = folder.file(trace_name(0, 1));
  const std::string content = write_trace(path);
  std::map<std::string, std::map<std::uint64_t, int>> kept;  // by table that lost rows
  int unreadable = 0;
  constexpr std::size_t trials = 36;
  for (std::size_t trial = 0; trial < trials; ++trial) {
    const std::size_t place = content.size() * (2 * trial + 1) / (2 * trials);
    const SettledTrace settled = settled_with_flip(path, folder.path(), content, place);
    if (!settled.rows.contains("a")) {
      ++unreadable;
      continue;
    }
    int damaged = 0;
    for (const char* const name : names) {
      const std::uint64_t left = settled.rows.at(name);
      if (left < rows) {
        ++damaged;
        ++kept[name][left];
        EXPECT_NE(settled.loss.find("table '" + std::string(name) + "' has " +
                                    std::to_string(left) + " good rows instead of"),
                  std::string::npos)
            << settled.loss;
      }
    }
    EXPECT_LE(damaged, 1) << settled.loss;
  }
  EXPECT_EQ(unreadable, 0);
  for (const char* const name : names) {
    for (std::uint64_t commit = 0; commit < commits; ++commit) {
      EXPECT_GT(kept[name][commit * chunk], 0) << name << " up to chunk " << commit;
    }
  }
}

// Here the first commit itself is damaged.
TEST(DamagedChunks, RowsOutliveTheirCommits) {
  const TempFolder folder;
  const std::string path = folder.file(trace_name(0, 1));
  const std::string content = write_trace(path);
  // A commit holds its rows of each table, one after the other.
  const std::uint64_t first[] = {chunk, chunk, chunk};
  const std::string_view pattern(reinterpret_cast<const char*>(first), sizeof(first));
  const std::size_t place = content.find(pattern);
  ASSERT_NE(place, std::string::npos);
  const SettledTrace settled = settled_with_flip(path, folder.path(), content, place);
  for (const char* const name : names) {
    EXPECT_EQ(settled.rows.at(name), rows);
  }
  EXPECT_EQ(settled.loss, "");
}

}  // namespace
}  // namespace tessera::trace::damaged_chunks_test
