// What cannot be exported for Chrome, and what is left behind then: nothing.
#include <gmock/gmock.h>

#include <filesystem>
#include <string>

#include "chrome_runs.hpp"
#include "tessera/trace/chrome/export.hpp"
#include "tessera/trace/records.hpp"
#include "tessera/trace/run_folder.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::chrome_refusals_test {
namespace {

using chrome::busy_rows;
using chrome::channel_bin;
using chrome::exported;
using chrome::link_bin;
using chrome::RankRows;
using chrome::small_run;
using chrome::step;
using chrome::write_run;
using ::testing::HasSubstr;

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

// Before format 1.9 the port of a link had eight bits.
TEST(ChromeExport, ReadsLinksOfEarlierFormats) {
  struct EarlierRow {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::uint64_t bytes = 0;
    std::int64_t busy = 0;
    std::uint64_t queue = 0;
    std::uint32_t node = 0;
    std::uint32_t to = 0;
    std::uint8_t port = 0;
    std::uint8_t link_class = 0;
  };
  const auto table = [](const char* name) {
    return describe<EarlierRow>(
        name, "rows of a test",
        {field("begin", &EarlierRow::begin, "", "-"), field("end", &EarlierRow::end, "", "-"),
         field("bytes", &EarlierRow::bytes, "", "-"), field("busy", &EarlierRow::busy, "", "-"),
         field("largest_queue", &EarlierRow::queue, "", "-"),
         field("node", &EarlierRow::node, "", "-"), field("to", &EarlierRow::to, "", "-"),
         field("port", &EarlierRow::port, "", "-"),
         field("class", &EarlierRow::link_class, "", "-")});
  };
  const TempFolder folder;
  TraceFile file(folder.file(trace_name(0, 1)), {table("link_bins"), table("links")},
                 {{"phases", "forward"}, {"activities", "compute"}});
  file.append(0, EarlierRow{0, 1000, 77, 500, 0, 0, 1, 3, 2});
  file.append(1, EarlierRow{0, 1000, 77, 500, 0, 0, 1, 3, 2});
  file.close(SimTime::from_ps(1000));
  write_manifest(folder.path(), 1);
  EXPECT_EQ(exported(folder).result.bins, 1U);

  const TraceReader reader(folder.file(trace_name(0, 1)));
  const auto row = reader.read_as(tables()[links], 0, 1).record<LinkRow>(0);
  EXPECT_EQ(row.port, 3U);
  EXPECT_EQ(row.link_class, 2U);
  EXPECT_EQ(row.bytes, 77U);
}

TEST(ChromeExport, RefusesTablesOfAnotherForm) {
  const TempFolder folder;
  TableSpec other = row_table("operators");
  TraceFile(folder.file(trace_name(0, 1)), {other}, {}).close(SimTime::zero());
  write_manifest(folder.path(), 1);
  EXPECT_THAT(message_of<IoError>([&] { exported(folder); }),
              HasSubstr("table 'operators' has other fields than this program's"));
}

}  // namespace
}  // namespace tessera::trace::test::chrome_refusals_test
