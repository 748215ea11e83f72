// A run in segments, as its readers see it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/store/segment.hpp"
#include "tessera/trace/store/signed_json.hpp"
#include "tessera/trace/trace_file.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::segment_test {
namespace {

using namespace test;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Ten rows in segment 0, of which six count, and four in segment 1, that count from 6 on.
std::vector<Segment> two_segments() {
  std::vector<Segment> segments(2);
  segments[0].rows = {{{"a", 6}}};
  segments[1].number = 1;
  return segments;
}

void write_rows(const std::string& path, std::uint64_t first, std::uint64_t count) {
  TraceFile file(path, {row_table("a")}, {{"rank", "0"}});
  for (std::uint64_t i = first; i < first + count; ++i) {
    file.append(0, row_of(i, 0));
  }
  file.close(SimTime::from_ps(1));
}

TEST(Segments, NameTheirFiles) {
  EXPECT_EQ(trace_name(3, 4, 2), "trace.s2.00003.h5");
  EXPECT_EQ(trace_name(3141, 4000, 1), "traces/003/trace.s1.03141.h5");
}

// As another program may write it, whose sum is right.
TEST(Segments, ThatLackSomethingAreDamaged) {
  const TempFolder folder;
  const std::string path = folder.file("segments.json");
  write_segments(folder.path(), two_segments());
  const Json whole = read_signed(path, "tessera-segments").at("segments");
  EXPECT_EQ(read_segments(folder.path()).size(), 2U);
  const auto complaint_without = [&](const std::function<void(Json&)>& change) {
    Json segments = whole;
    change(segments[0]);
    write_signed(path, "tessera-segments", {{"segments", segments}});
    try {
      read_segments(folder.path());
    } catch (const IoError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(complaint_without([](Json& first) { first.erase("number"); }),
              HasSubstr("damaged (not the JSON it should be)"));
  EXPECT_THAT(complaint_without([](Json& first) { first["ranks"] = 2'000'000'000; }),
              HasSubstr("damaged (not what it should be)"));
}

TEST(Segments, TheManifestAndTheIndexCountGoodRows) {
  const TempFolder folder;
  write_rows(folder.file(trace_name(0, 1, 0)), 0, 10);
  write_rows(folder.file(trace_name(0, 1, 1)), 6, 4);
  write_segments(folder.path(), two_segments());
  write_index(folder.path(), two_segments());
  write_manifest(folder.path(), two_segments());
  EXPECT_THAT(verify_run_folder(folder.path()), IsEmpty());
}

TEST(Segments, TheIndexRefusesATraceWithTooFewRows) {
  const TempFolder folder;
  write_rows(folder.file(trace_name(0, 1, 0)), 0, 5);
  write_rows(folder.file(trace_name(0, 1, 1)), 6, 4);
  EXPECT_THAT(message_of<IoError>([&] { write_index(folder.path(), two_segments()); }),
              HasSubstr("has 5 rows instead of 6"));
}

TEST(Segments, GoingOnRemovesWhatDoesNotCount) {
  const TempFolder folder;
  for (const std::uint32_t segment : {0U, 1U, 2U}) {
    write_rows(folder.file(trace_name(0, 1, segment)), 0, 10);
  }
  write_manifest(folder.path(), 1);
  write_file_atomically(folder.file("notes.txt"), "the user's own");
  prepare_to_go_on(folder.path(), two_segments());
  EXPECT_TRUE(std::filesystem::exists(folder.file("trace.00000.h5")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("trace.s1.00000.h5")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("trace.s2.00000.h5")));
  EXPECT_FALSE(std::filesystem::exists(folder.file("manifest.json")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("segments.json")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("notes.txt")));
}

TEST(Segments, SettlingRefusesATraceWithTooFewRows) {
  const TempFolder folder;
  write_rows(folder.file(trace_name(0, 1)), 0, 5);
  const TracePart part = trace_parts(two_segments()).front();
  EXPECT_THAT(message_of<IoError>([&] { settle_trace(folder.path(), part); }),
              HasSubstr("has 5 good rows instead of 6"));
}

TEST(Segments, SettlingKeepsWhatIsThereWhereLossesAreAccepted) {
  const TempFolder folder;
  const std::string path = folder.file(trace_name(0, 1));
  write_rows(path, 0, 5);
  const TracePart part = trace_parts(two_segments()).front();
  const SettledTrace settled = settle_trace(folder.path(), part, Losses::accepted);
  EXPECT_EQ(settled.rows.at("a"), 5U);
  EXPECT_EQ(settled.loss, "trace.00000.h5: table 'a' has 5 good rows instead of 6");
  EXPECT_EQ(TraceReader(path).committed_rows("a"), 5U);
  EXPECT_TRUE(TraceReader(path).closed());
  EXPECT_TRUE(std::filesystem::exists(path + ".damaged"));
}

TEST(Segments, ATraceThatCannotBeReadBecomesAnEmptyOne) {
  const TempFolder folder;
  const std::string path = folder.file(trace_name(0, 1));
  const TracePart part = trace_parts(two_segments()).front();
  for (const bool is_there : {true, false}) {
    std::filesystem::remove(path);
    if (is_there) {
      write_file_atomically(path, "no trace at all");
    }
    EXPECT_THROW(settle_trace(folder.path(), part), DamagedTrace);
    const SettledTrace settled =
        settle_trace(folder.path(), part, Losses::accepted, {{"rank", "0"}});
    EXPECT_THAT(settled.loss, HasSubstr("none of its rows can be read"));
    const TraceReader reader(path);
    EXPECT_EQ(reader.attribute("rank"), "0");
    EXPECT_EQ(reader.committed_rows("operators"), 0U);
  }
}

TEST(Segments, AFileIsOverwrittenWhereItStands) {
  const TempFolder folder;
  const std::string path = folder.file("summary.json");
  write_file_atomically(path, "a longer text");
  for (const std::string text : {"short", "longer than what was there before"}) {
    EXPECT_TRUE(overwrite_file(path, text));
    EXPECT_EQ(text_of(path), text);
  }
  EXPECT_FALSE(overwrite_file(folder.file("none"), "x"));
}

// As ranks do that fail at a time, when their traces meet a full disk.
TEST(Segments, ProcessesThatWriteAtATimeLeaveAWholeText) {
  const TempFolder folder;
  const std::string path = folder.file("summary.json");
  const std::string texts[] = {std::string(200'000, 'a'), std::string(70'000, 'b')};
  std::vector<pid_t> children;
  for (const std::string& text : texts) {
    children.push_back(test::start_child([&] {
      int failed = 0;
      for (int time = 0; time < 100; ++time) {
        failed += write_or_overwrite(path, text) ? 0 : 1;
        const std::string found = text_of(path);
        failed += found == texts[0] || found == texts[1] ? 0 : 1;
      }
      return failed == 0 ? 0 : 1;
    }));
  }
  for (const pid_t child : children) {
    EXPECT_EQ(test::wait_for(child), 0);
  }
}

}  // namespace
}  // namespace tessera::trace::segment_test
