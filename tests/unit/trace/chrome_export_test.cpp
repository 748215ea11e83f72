#include "tessera/trace/chrome/export.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <zlib.h>

#include <csignal>
#include <map>
#include <nlohmann/json.hpp>

#include "tessera/trace/records.hpp"
#include "tessera/trace/run_folder.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::chrome_export_test {
namespace {

using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t beyond_double = (std::int64_t{1} << 53) + 1;

// Rows of one rank, by table.
struct RankRows {
  std::vector<NodeRow> nodes;
  std::vector<NameRow> names;
  std::vector<OperatorRow> operators;
  std::vector<MessageRow> messages;
  std::vector<LinkRow> link_bins;
  std::vector<LinkRow> links;
  std::vector<ChannelRow> channel_bins;
};

void write_run(const TempFolder& folder, const std::vector<RankRows>& run) {
  const int ranks = static_cast<int>(run.size());
  for (int rank = 0; rank < ranks; ++rank) {
    TraceFile file(folder.file(trace_name(rank, ranks)), tables(),
                   {{"phases", "forward,backward"},
                    {"activities", "compute,tensor,data,pipeline,memory,bubble"},
                    {"traffic", "activation,gradient"},
                    {"tenants", "chat,voice"},
                    {"experiment", "a \"test\""}});
    const auto append = [&](Table table, const auto& rows) {
      for (const auto& row : rows) {
        file.append(table, row);
      }
    };
    const RankRows& rows = run[static_cast<std::size_t>(rank)];
    append(nodes, rows.nodes);
    append(names, rows.names);
    append(operators, rows.operators);
    append(messages, rows.messages);
    append(link_bins, rows.link_bins);
    append(links, rows.links);
    append(channel_bins, rows.channel_bins);
    file.close(SimTime::from_ps(1));
  }
  write_manifest(folder.path(), ranks);
}

NodeRow node_of(std::uint32_t node, std::int64_t stage) {
  NodeRow row{};
  row.node = node;
  row.stage = stage;
  return row;
}

OperatorRow step(std::uint32_t node, std::int64_t start_ps, std::int64_t end_ps,
                 std::uint8_t activity = 0, std::uint16_t name = 0) {
  return {start_ps, end_ps, node, 3, name, 1, activity};
}

ChannelRow channel_bin(std::int64_t begin_ps, std::int64_t end_ps, std::uint64_t read,
                       std::uint64_t written = 0) {
  ChannelRow row;
  row.begin_ps = begin_ps;
  row.end_ps = end_ps;
  row.read_bytes = read;
  row.written_bytes = written;
  row.channel = 5;
  return row;
}

LinkRow link_bin(std::int64_t begin_ps, std::int64_t end_ps, std::uint64_t bytes,
                 std::int64_t busy_ps, std::uint8_t port = 0) {
  return {begin_ps, end_ps, bytes, busy_ps, 0, 0, 1, port};
}

// Two ranks, two stages of two tiles (10, 11 and 20, 21), and names on rank 0 as a run has them.
std::vector<RankRows> small_run() {
  RankRows first;
  first.nodes = {node_of(10, 0), node_of(11, 0), node_of(30, -1)};
  first.names = {{0, text64("attention")}, {1, text64("say \"hi\"\n\\ \xff é")}};
  first.operators = {step(10, 0, 1'234'567), step(10, 1'234'567, 2'000'000, 1, 1),
                     step(10, 2'000'000, 2'000'001, 4), step(10, 2'000'001, beyond_double, 5),
                     step(11, 0, 7)};
  RankRows second;
  second.nodes = {node_of(20, 1), node_of(21, 1)};
  second.operators = {step(20, 500, 600, 0, 99), step(21, 500, 600, 77)};
  second.messages = {{5, 1'000'005, beyond_double, std::uint64_t{1} << 63, 10, 20, 0},
                     {6, 6, 6, 0, 20, 21, 1}};
  return {first, second};
}

std::string unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::array<char, 4096> buffer{};
  for (int count = gzread(file, buffer.data(), buffer.size()); count > 0;
       count = gzread(file, buffer.data(), buffer.size())) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  EXPECT_EQ(gzclose(file), Z_OK);
  return text;
}

// An exported timeline, and what the program says about it.
struct Timeline {
  ChromeExport result;
  std::string text;
  Json json;

  std::vector<Json> events(const std::string& phase) const {
    std::vector<Json> found;
    for (const Json& event : json["traceEvents"]) {
      if (event["ph"] == phase) {
        found.push_back(event);
      }
    }
    return found;
  }
  // Name of each process or thread.
  std::string name_of(const std::string& kind, const Json& event) const {
    for (const Json& metadata : events("M")) {
      if (metadata["name"] == kind + "_name" && metadata["pid"] == event["pid"] &&
          (kind == "process" || metadata["tid"] == event["tid"])) {
        return metadata["args"]["name"];
      }
    }
    return "";
  }
};

Timeline exported(const TempFolder& folder, ChromeExportOptions options = {}) {
  options.folder = folder.path();
  Timeline timeline;
  timeline.result = export_chrome(options);
  timeline.text = unpacked(timeline.result.output);
  timeline.json = Json::parse(timeline.text);
  return timeline;
}

// "tile lane start-end" of each slice.
std::vector<std::string> slices_of(const Timeline& timeline) {
  std::vector<std::string> slices;
  for (const Json& slice : timeline.events("X")) {
    slices.push_back(timeline.name_of("thread", slice) + " " + slice["args"]["start_ps"].dump());
  }
  return slices;
}

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

// Eight tiles that are never without a step.
RankRows busy_rows() {
  RankRows rows;
  for (std::uint32_t tile = 0; tile < 8; ++tile) {
    rows.nodes.push_back(node_of(tile, tile / 2));
    std::int64_t now = 0;
    for (std::uint64_t i = 0; i < 200; ++i) {
      const std::uint64_t random = mix64(tile * 1000 + i + 1);
      const std::int64_t end = now + static_cast<std::int64_t>(random % 3'000'000) + 1;
      rows.operators.push_back(step(tile, now, end, static_cast<std::uint8_t>(random >> 40) % 6));
      now = end;
    }
  }
  return rows;
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

TEST(ChromeExport, RefusesWrongOptions) {
  const TempFolder folder;
  write_run(folder, small_run());
  const auto fault = [&](auto change) {
    ChromeExportOptions options;
    options.folder = folder.path();
    change(options);
    return message_of<ConfigError>([&] { export_chrome(options); });
  };
  using Options = ChromeExportOptions;
  EXPECT_THAT(fault([](Options& o) {
                o.stages = {0, 7};
              }),
              HasSubstr("unknown stage 7; the run has 0 to 1"));
  EXPECT_THAT(fault([](Options& o) { o.stages = {-1}; }), HasSubstr("unknown stage -1"));
  EXPECT_THAT(fault([](Options& o) { o.tiles = {12}; }), HasSubstr("unknown tile 12"));
  EXPECT_THAT(fault([](Options& o) { o.limit = 0; }), HasSubstr("limit"));
  EXPECT_THAT(fault([](Options& o) { o.from = o.to = SimTime::from_ps(1'000); }),
              HasSubstr("from 1 ns to 1 ns"));
  EXPECT_FALSE(std::filesystem::exists(folder.file("trace.json.gz")));
}

TEST(ChromeExport, RefusesAnIncompleteRun) {
  const TempFolder folder;
  write_run(folder, small_run());
  const auto fault = [&](const std::string& output = "") {
    ChromeExportOptions options;
    options.folder = folder.path();
    options.output = output;
    return message_of<IoError>([&] { export_chrome(options); });
  };
  EXPECT_THAT(fault(folder.file("none/x.json.gz")),
              HasSubstr("none/x.json.gz: error: cannot create the file: No such file"));
  const std::string path = folder.file("trace.00001.h5");
  const std::string contents = contents_of(path);
  write_contents(path, contents + "x");
  EXPECT_THAT(fault(), HasSubstr("is no complete run: trace.00001.h5: has"));
  std::filesystem::remove(folder.file("manifest.json"));
  EXPECT_THAT(fault(), HasSubstr("manifest.json: missing"));
  write_manifest(folder.path(), 0);
  EXPECT_THAT(fault(), HasSubstr("the run wrote no trace"));
}

TEST(ChromeExport, LeavesNothingOnAFullDisk) {
  const TempFolder folder;
  write_run(folder, {busy_rows()});
  const pid_t child = start_child([&] {
    limit_file_size(1000);
    ChromeExportOptions options;
    options.folder = folder.path();
    const std::string message = message_of<IoError>([&] { export_chrome(options); });
    return message.find("trace.json.gz: error: cannot ") != std::string::npos &&
                   message.find("File too large") != std::string::npos
               ? 0
               : 1;
  });
  EXPECT_EQ(wait_for(child), 0);
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    EXPECT_NE(entry.path().extension(), ".gz");
  }
}

TEST(ChromeExport, RefusesRowsThatEndBeforeTheyBegin) {
  const auto fault = [](auto change) {
    const TempFolder folder;
    RankRows rows;
    change(rows);
    write_run(folder, {rows});
    const std::string message = message_of<IoError>([&] { exported(folder); });
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      EXPECT_NE(entry.path().extension(), ".gz") << "nothing half-written stays";
    }
    return message;
  };
  EXPECT_THAT(fault([](RankRows& rows) { rows.operators = {step(0, 2, 1)}; }),
              HasSubstr("table 'operators' has a row from 2 ps to 1 ps"));
  EXPECT_THAT(fault([](RankRows& rows) { rows.operators = {step(0, -1, 1)}; }),
              HasSubstr("from -1 ps"));
  EXPECT_THAT(fault([](RankRows& rows) {
                rows.messages = {{2, 1, 3, 0, 0, 0, 0}};
              }),
              HasSubstr("'messages'"));
  EXPECT_THAT(fault([](RankRows& rows) { rows.channel_bins = {channel_bin(1, 1, 0)}; }),
              HasSubstr("'channel_bins'"));
  EXPECT_THAT(fault([](RankRows& rows) { rows.link_bins = {link_bin(1, 1, 0, 0)}; }),
              HasSubstr("'link_bins'"));
}

TEST(ChromeExport, RefusesTablesOfAnotherForm) {
  const TempFolder folder;
  TableSpec other = row_table("operators");
  TraceFile(folder.file(trace_name(0, 1)), {other}, {}).close(SimTime::zero());
  write_manifest(folder.path(), 1);
  EXPECT_THAT(message_of<IoError>([&] { exported(folder); }),
              HasSubstr("table 'operators' has other fields than this program's"));
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

}  // namespace
}  // namespace tessera::trace::test::chrome_export_test
