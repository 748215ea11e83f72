#include "tessera/trace/chrome/export.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "chrome/tracks.hpp"
#include "chrome_runs.hpp"
#include "store/gz_file.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/run_folder.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::chrome_export_test {
namespace {

using chrome::beyond_double;
using chrome::busy_rows;
using chrome::channel_bin;
using chrome::exported;
using chrome::Json;
using chrome::link_bin;
using chrome::node_of;
using chrome::RankRows;
using chrome::slices_of;
using chrome::small_run;
using chrome::step;
using chrome::Timeline;
using chrome::write_run;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(ChromeExport, KeepsEveryPicosecond) {
  const TempFolder folder;
  write_run(folder, small_run());
  const Timeline timeline = exported(folder);
  EXPECT_EQ(timeline.result.output, folder.file("trace.json.gz"));
  EXPECT_EQ(timeline.result.slices, 7U);
  EXPECT_EQ(timeline.result.messages, 2U);
  EXPECT_EQ(timeline.result.left_out, 0U);
  EXPECT_TRUE(timeline.result.complete_until.is_never());
  // In the text, as a parser's double would hide an error.
  EXPECT_THAT(timeline.text, HasSubstr("\"ts\":0.000000,\"dur\":1.234567,"));
  EXPECT_THAT(timeline.text, HasSubstr("\"ts\":2.000000,\"dur\":0.000001,"));
  EXPECT_THAT(timeline.text, HasSubstr("\"ts\":2.000001,\"dur\":9007199252.740992,"));
  EXPECT_THAT(timeline.text, HasSubstr("\"end_ps\":9007199254740993}"));
  EXPECT_THAT(timeline.text, HasSubstr("\"bytes\":9223372036854775808,"));
}

TEST(ChromeExport, NamesProcessesLanesAndSlices) {
  const TempFolder folder;
  write_run(folder, small_run());
  const Timeline timeline = exported(folder);
  EXPECT_THAT(slices_of(timeline),
              ElementsAre("tile 10 compute 0", "tile 10 communication 1234567",
                          "tile 10 memory 2000000", "tile 10 idle 2000001", "tile 11 compute 0",
                          "tile 20 compute 500", "tile 21 other 500"));
  const std::vector<Json> slices = timeline.events("X");
  EXPECT_EQ(timeline.name_of("process", slices[0]), "stage 0");
  EXPECT_EQ(timeline.name_of("process", slices[5]), "stage 1");
  EXPECT_EQ(slices[0]["name"], "attention");
  EXPECT_EQ(slices[0]["cat"], "compute");
  EXPECT_EQ(slices[0]["args"]["phase"], "backward");
  EXPECT_EQ(slices[0]["args"]["micro_batch"], 3);
  EXPECT_EQ(slices[1]["name"], "say \"hi\"\n\\ \xEF\xBF\xBD é");
  EXPECT_EQ(slices[5]["name"], "operator 99");
  EXPECT_EQ(slices[6]["cat"], "activity 77");
  std::map<std::string, int> metadata;
  for (const Json& event : timeline.events("M")) {
    ++metadata[event["name"]];
  }
  EXPECT_THAT(
      metadata,
      ElementsAre(::testing::Pair("process_name", 2), ::testing::Pair("process_sort_index", 2),
                  ::testing::Pair("thread_name", 9), ::testing::Pair("thread_sort_index", 9)));
  EXPECT_EQ(timeline.json["otherData"]["experiment"], "a \"test\"");
  EXPECT_EQ(timeline.json["otherData"]["slices"], 7);
  EXPECT_EQ(timeline.json["displayTimeUnit"], "ns");
}

TEST(ChromeExport, SlicesOfALaneDoNotOverlap) {
  const TempFolder folder;
  write_run(folder, {busy_rows()});
  const Timeline timeline = exported(folder);
  ASSERT_EQ(timeline.result.slices, 1600U);
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::int64_t> ends;
  for (const Json& slice : timeline.events("X")) {
    auto& end = ends[{slice["pid"].get<std::uint64_t>(), slice["tid"].get<std::uint64_t>()}];
    EXPECT_GE(slice["args"]["start_ps"].get<std::int64_t>(), end);
    end = slice["args"]["end_ps"].get<std::int64_t>();
  }
  EXPECT_THAT(ends, SizeIs(8 * 4));
}

// Rows come in the order of their ends, as graphs write them.
TEST(ChromeExport, WorkAtOneTimeHasFurtherLanes) {
  const TempFolder folder;
  RankRows rows;
  rows.nodes = {node_of(0, -1), node_of(1, -1)};
  rows.operators = {step(0, 10, 20, 1), step(0, 20, 30, 1), step(0, 5, 25, 1), step(0, 0, 40),
                    step(0, 0, 50, 1),  step(1, 0, 50, 1),  step(0, 7, 7, 1)};
  write_run(folder, {rows});
  EXPECT_THAT(
      slices_of(exported(folder)),
      ElementsAre("tile 0 communication 10", "tile 0 communication 20", "tile 0 communication 2 5",
                  "tile 0 compute 0", "tile 0 communication 3 0", "tile 1 communication 0",
                  "tile 0 communication 7"));
}

TEST(ChromeExport, RandomWorkAtOneTimeDoesNotOverlapInAThread) {
  const TempFolder folder;
  RankRows rows;
  rows.nodes = {node_of(0, -1)};
  for (std::uint64_t i = 0; i < 500; ++i) {
    const auto begin = static_cast<std::int64_t>(mix64(i + 1) % 1000);
    rows.operators.push_back(
        step(0, begin, begin + 1 + static_cast<std::int64_t>(mix64(i + 5000) % 40), 1));
  }
  write_run(folder, {rows});
  std::map<std::uint64_t, std::vector<std::pair<std::int64_t, std::int64_t>>> threads;
  for (const Json& slice : exported(folder).events("X")) {
    threads[slice["tid"].get<std::uint64_t>()].emplace_back(slice["args"]["start_ps"],
                                                            slice["args"]["end_ps"]);
  }
  for (auto& [thread, spans] : threads) {
    std::sort(spans.begin(), spans.end());
    for (std::size_t i = 1; i < spans.size(); ++i) {
      EXPECT_LE(spans[i - 1].second, spans[i].first) << thread;
    }
  }
}

TEST(ChromeExport, ShowsMessagesAsSpans) {
  const TempFolder folder;
  write_run(folder, small_run());
  const Timeline timeline = exported(folder);
  const std::vector<Json> begins = timeline.events("b");
  const std::vector<Json> ends = timeline.events("e");
  ASSERT_THAT(begins, SizeIs(2));
  ASSERT_THAT(ends, SizeIs(2));
  EXPECT_NE(begins[0]["id"], begins[1]["id"]);
  for (std::size_t i = 0; i < 2; ++i) {
    for (const char* key : {"id", "cat", "name", "pid", "tid"}) {
      EXPECT_EQ(begins[i][key], ends[i][key]);
    }
  }
  EXPECT_EQ(begins[0]["name"], "activation");
  EXPECT_EQ(timeline.name_of("thread", begins[0]), "tile 10 messages");
  EXPECT_EQ(timeline.name_of("process", begins[0]), "stage 0") << "its sender is on another rank";
  EXPECT_EQ(begins[0]["args"]["taken_ps"], beyond_double);
  EXPECT_EQ(begins[0]["args"]["target"], 20);
  EXPECT_THAT(timeline.text, HasSubstr("\"ts\":0.000005,"));
  EXPECT_THAT(timeline.text, HasSubstr("\"ts\":1.000005}"));
}

// "counter: time key=value …" of each sample.
std::vector<std::string> samples_of(const Timeline& timeline) {
  std::vector<std::string> samples;
  for (const Json& event : timeline.events("C")) {
    samples.push_back(event["name"].get<std::string>() + " " + event["ts"].dump() + " " +
                      event["args"].dump());
    EXPECT_EQ(timeline.name_of("process", event), "machine");
  }
  return samples;
}

TEST(ChromeExport, CountsDramBandwidth) {
  const TempFolder folder;
  RankRows rows;
  // A gap after the second bin.
  rows.channel_bins = {channel_bin(0, 1'000'000, 2'000, 500),
                       channel_bin(1'000'000, 2'000'000, 4'000),
                       channel_bin(3'000'000, 5'000'000, 1'000)};
  write_run(folder, {rows});
  const Timeline timeline = exported(folder);
  EXPECT_EQ(timeline.result.bins, 3U);
  EXPECT_THAT(samples_of(timeline),
              ElementsAre("DRAM channel 5 0.0 {\"read GB/s\":2,\"written GB/s\":0.5}",
                          "DRAM channel 5 1.0 {\"read GB/s\":4,\"written GB/s\":0}",
                          "DRAM channel 5 2.0 {\"read GB/s\":0,\"written GB/s\":0}",
                          "DRAM channel 5 3.0 {\"read GB/s\":0.5,\"written GB/s\":0}",
                          "DRAM channel 5 5.0 {\"read GB/s\":0,\"written GB/s\":0}"));
}

TEST(ChromeExport, AddsUpLinksOfAllRanks) {
  const TempFolder folder;
  RankRows first;
  first.link_bins = {link_bin(0, 1'000'000, 1'000, 500'000),
                     link_bin(0, 1'000'000, 1'000, 250'000, 1),
                     link_bin(1'000'000, 2'000'000, 500, 1'000'000)};
  first.links = {link_bin(0, 2'000'000, 0, 0), link_bin(0, 2'000'000, 0, 0, 1)};
  RankRows second;
  second.link_bins = {link_bin(0, 1'000'000, 2'000, 250'000, 2)};
  second.links = {link_bin(0, 2'000'000, 0, 0, 2), link_bin(0, 2'000'000, 0, 0, 3)};
  write_run(folder, {first, second});
  const Timeline timeline = exported(folder);
  EXPECT_EQ(timeline.result.bins, 2U);
  EXPECT_THAT(
      samples_of(timeline),
      ElementsAre("link traffic 0.0 {\"GB/s\":4}", "link utilisation 0.0 {\"percent\":25}",
                  "link traffic 1.0 {\"GB/s\":0.5}", "link utilisation 1.0 {\"percent\":25}",
                  "link traffic 2.0 {\"GB/s\":0}", "link utilisation 2.0 {\"percent\":0}"));
}

TEST(ChromeExport, FiltersStagesTilesAndTime) {
  const TempFolder folder;
  write_run(folder, small_run());
  ChromeExportOptions options;
  options.stages = {1};
  Timeline timeline = exported(folder, options);
  EXPECT_THAT(slices_of(timeline), ElementsAre("tile 20 compute 500", "tile 21 other 500"));
  EXPECT_EQ(timeline.result.messages, 2U) << "one comes from stage 0, but goes to stage 1";
  options.stages = {0};
  EXPECT_EQ(exported(folder, options).result.messages, 1U);

  options.stages = {};
  options.tiles = {21, 11};
  timeline = exported(folder, options);
  EXPECT_THAT(slices_of(timeline), ElementsAre("tile 11 compute 0", "tile 21 other 500"));
  EXPECT_EQ(timeline.result.messages, 1U);
  options.stages = {0, 1};
  EXPECT_THAT(slices_of(exported(folder, options)), SizeIs(2));
  options.stages = {0};
  EXPECT_THAT(slices_of(exported(folder, options)), ElementsAre("tile 11 compute 0"));

  options = {};
  options.from = SimTime::from_ps(600);      // where two slices end
  options.to = SimTime::from_ps(2'000'000);  // where one begins
  timeline = exported(folder, options);
  EXPECT_THAT(slices_of(timeline),
              ElementsAre("tile 10 compute 0", "tile 10 communication 1234567"));
  EXPECT_EQ(timeline.result.messages, 1U);
  EXPECT_EQ(timeline.result.left_out, 0U) << "what is not wanted is not left out";
  options.from = SimTime::from_ps(6);
  options.to = SimTime::from_ps(7);
  EXPECT_EQ(exported(folder, options).result.messages, 2U) << "one takes no time";
}

TEST(ChromeExport, FiltersBinsByTime) {
  const TempFolder folder;
  RankRows rows;
  rows.channel_bins = {channel_bin(0, 100, 1), channel_bin(100, 200, 1), channel_bin(200, 300, 1)};
  rows.link_bins = {link_bin(0, 100, 1, 1), link_bin(100, 200, 1, 1), link_bin(200, 300, 1, 1)};
  write_run(folder, {rows});
  ChromeExportOptions options;
  options.from = SimTime::from_ps(100);
  options.to = SimTime::from_ps(200);
  EXPECT_EQ(exported(folder, options).result.bins, 2U);
}

TEST(ChromeExport, KeepsTheEarliestOfTooMany) {
  const TempFolder folder;
  std::vector<RankRows> run = small_run();
  run[1].channel_bins = {channel_bin(0, 400, 1), channel_bin(400, 800, 1)};
  write_run(folder, run);
  ChromeExportOptions options;
  // Starts: 0 0 0 | 5 6 400 | 500 500 | 1234567 2000000 2000001
  options.limit = 7;
  const Timeline timeline = exported(folder, options);
  EXPECT_THAT(slices_of(timeline),
              ElementsAre("tile 10 compute 0", "tile 11 compute 0", "tile 20 compute 500"));
  EXPECT_EQ(timeline.result.messages, 2U);
  EXPECT_EQ(timeline.result.bins, 2U);
  EXPECT_EQ(timeline.result.left_out, 4U);
  EXPECT_EQ(timeline.result.complete_until, SimTime::from_ps(500));
  EXPECT_EQ(timeline.json["otherData"]["left_out"], 4);
  EXPECT_EQ(timeline.json["otherData"]["complete_until_ps"], 500);

  for (const auto& [limit, left_out] :
       {std::pair{1, 10}, {2, 9}, {3, 8}, {10, 1}, {11, 0}, {12, 0}}) {
    options.limit = static_cast<std::uint64_t>(limit);
    const ChromeExport result = exported(folder, options).result;
    EXPECT_EQ(result.slices + result.messages + result.bins, 11U - left_out);
    EXPECT_EQ(result.left_out, static_cast<std::uint64_t>(left_out));
    EXPECT_EQ(result.complete_until.is_never(), left_out == 0);
  }
  options.limit = 3;
  options.stages = {1};
  options.from = SimTime::from_ps(500);
  EXPECT_THAT(slices_of(exported(folder, options)), SizeIs(1))
      << "the budget is for what is wanted: a message, two slices and a bin";
}

TEST(ChromeExport, DoesNotEndACounterThatWasCutOff) {
  const TempFolder folder;
  RankRows rows;
  rows.channel_bins = {channel_bin(0, 1'000'000, 1'000), channel_bin(1'000'000, 2'000'000, 1'000)};
  write_run(folder, {rows});
  ChromeExportOptions options;
  options.limit = 1;
  EXPECT_THAT(samples_of(exported(folder, options)), SizeIs(1));
}

TEST(ChromeExport, OfNothingIsValid) {
  const TempFolder folder;
  write_run(folder, {RankRows{}});
  const Timeline timeline = exported(folder);
  EXPECT_THAT(timeline.json["traceEvents"], IsEmpty());
  EXPECT_EQ(timeline.result.slices, 0U);
  EXPECT_EQ(timeline.json["otherData"]["left_out"], 0);
}

TEST(ChromeExport, TakesRowsOfUnknownNodes) {
  const TempFolder folder;
  RankRows rows;
  rows.operators = {step(4'294'967'295, 0, 1)};
  write_run(folder, {rows});
  const Timeline timeline = exported(folder);
  EXPECT_THAT(slices_of(timeline), ElementsAre("tile 4294967295 compute 0"));
  EXPECT_EQ(timeline.name_of("process", timeline.events("X")[0]), "no stage");
}

TEST(ChromeExport, TellsStagesOfTenantsApart) {
  const TempFolder folder;
  RankRows rows;
  rows.nodes = {node_of(0, 0), node_of(1, 0), node_of(2, 1)};
  rows.nodes[0].tenant = 1;
  rows.nodes[1].tenant = 0;
  rows.nodes[2].tenant = 1;
  rows.operators = {step(0, 0, 1), step(1, 1, 2), step(2, 2, 3)};
  write_run(folder, {rows});
  const Timeline timeline = exported(folder);
  std::vector<std::string> processes;
  for (const Json& slice : timeline.events("X")) {
    processes.push_back(timeline.name_of("process", slice));
  }
  EXPECT_THAT(processes, ElementsAre("voice/stage 0", "chat/stage 0", "voice/stage 1"));
}

TEST(ChromeExport, ReadsManyBlocks) {
  const TempFolder folder;
  RankRows rows;
  rows.nodes = {node_of(0, 0)};
  for (std::int64_t i = 0; i < 70'000; ++i) {
    rows.operators.push_back(step(0, i, i + 1));
  }
  write_run(folder, {rows});
  ChromeExportOptions options;
  options.folder = folder.path();
  options.from = SimTime::from_ps(65'000);
  EXPECT_EQ(export_chrome(options).slices, 5'000U);
  options.limit = 10;
  const ChromeExport cut = export_chrome(options);
  EXPECT_EQ(cut.slices, 10U);
  EXPECT_EQ(cut.left_out, 4'990U);
  EXPECT_EQ(cut.complete_until, SimTime::from_ps(65'009));
}

TEST(ChromeExport, SaysTheSameTwice) {
  const TempFolder folder;
  write_run(folder, small_run());
  ChromeExportOptions options;
  options.output = folder.file("a.json.gz");
  exported(folder, options);
  options.output = folder.file("b.json.gz");
  exported(folder, options);
  EXPECT_EQ(contents_of(folder.file("a.json.gz")), contents_of(folder.file("b.json.gz")));
}

TEST(ChromeExport, DoesWithoutTables) {
  const TempFolder folder;
  TraceFile(folder.file(trace_name(0, 1)), {row_table("a")}, {}).close(SimTime::zero());
  write_manifest(folder.path(), 1);
  EXPECT_THAT(exported(folder).json["traceEvents"], IsEmpty());
}

TEST(ChromeExport, StandsInTheRunFolder) {
  const TempFolder folder;
  write_run(folder, small_run());
  exported(folder);
  EXPECT_THAT(verify_run_folder(folder.path()), IsEmpty());
  prepare_run_folder(folder.path(), 1);
  EXPECT_TRUE(std::filesystem::exists(folder.file("trace.json.gz")));
}

TEST(ChromeExport, HasAllWaitsForOthersInOneLane) {
  for (const char* const activity :
       {"tensor", "data", "context", "expert", "pipeline", "collective", "message"}) {
    EXPECT_EQ(lane_of(activity), Lane::communication) << activity;
  }
  EXPECT_EQ(lane_of("compute"), Lane::compute);
  EXPECT_EQ(lane_of("memory"), Lane::memory);
  EXPECT_EQ(lane_of("bubble"), Lane::idle);
}

TEST(ChromeExport, KnowsItsOwnFiles) {
  const TempFolder folder;
  write_run(folder, small_run());
  ChromeExportOptions options;
  options.folder = folder.path();
  const std::string written = contents_of(export_chrome(options).output);
  EXPECT_TRUE(begins_as_chrome_export(std::string_view(written).substr(0, 512)));
  EXPECT_FALSE(begins_as_chrome_export(""));
  EXPECT_FALSE(begins_as_chrome_export("name: x\n"));
  const std::string other = folder.file("other.gz");
  GzFile file(other);
  file.write("{\"displayTimeUnit\":\"ms\"}");
  file.finish();
  EXPECT_FALSE(begins_as_chrome_export(contents_of(other)));
}

}  // namespace
}  // namespace tessera::trace::test::chrome_export_test
