#include "tessera/explore/table/table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tessera/core/error.hpp"

namespace tessera::explore::sweep_table_test {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

SweepRow row(std::uint64_t point, const std::string& throughput, const std::string& message = "") {
  SweepRow row;
  row.point = point;
  row.places = {static_cast<std::uint32_t>(point / 2), static_cast<std::uint32_t>(point % 2)};
  row.status = message.empty() ? "finished" : "refused";
  row.message = message;
  row.digest = message.empty() ? "0123456789abcdef0123456789abcdef" : "";
  row.numbers = {throughput, throughput.empty() ? "" : "9007199254740993"};
  return row;
}

SweepTable table() {
  SweepTable table;
  table.name = "small";
  table.experiment = "lab/experiment.yaml";
  table.keys = {{"strategy.tensor", 0, {"1", "2"}}, {"strategy.schedule", 1, {"1f1b", "a, \"b\""}}};
  table.columns = {{"throughput_samples_per_s", "samples/s", "of the point's summary"},
                   {"iteration_time_ps", "ps", "of the point's summary"}};
  table.objective = {"throughput_samples_per_s", true};
  table.rows = {row(0, "10.5"), row(1, "20"), row(2, "", "12 kB more than its 4 MB"), row(3, "20")};
  return table;
}

class SweepFolder : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directory(scratch_); }
  void TearDown() override { fs::remove_all(scratch_); }
  fs::path scratch_ =
      fs::path(::testing::TempDir()) /
      (std::string("table_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST(SweepTable, IsCommaSeparatedWithQuotesWhereNeeded) {
  EXPECT_EQ(to_csv(table()),
            "point,strategy.tensor,strategy.schedule,status,throughput_samples_per_s,"
            "iteration_time_ps,result_digest,message,notes\n"
            "0,1,1f1b,finished,10.5,9007199254740993,0123456789abcdef0123456789abcdef,,\n"
            "1,1,\"a, \"\"b\"\"\",finished,20,9007199254740993,0123456789abcdef0123456789abcdef,,\n"
            "2,2,1f1b,refused,,,,12 kB more than its 4 MB,\n"
            "3,2,\"a, \"\"b\"\"\",finished,20,9007199254740993,0123456789abcdef0123456789abcdef,,"
            "\n");
}

TEST(SweepTable, RanksByTheObjective) {
  SweepTable some = table();
  const auto points = [&] {
    std::vector<std::uint64_t> numbers;
    for (const SweepRow* each : ranking(some)) {
      numbers.push_back(each->point);
    }
    return numbers;
  };
  EXPECT_THAT(points(), ElementsAre(1, 3, 0));
  some.objective.maximize = false;
  EXPECT_THAT(points(), ElementsAre(0, 1, 3));
}

TEST(SweepTable, CountsFailuresThatDifferInNumbersTogether) {
  const std::vector<Failure> failures{
      {"point 1", "refused", "channel 3 has 1.5 GB, 12 kB too few."},
      {"point 2", "refused", "channel 14 has 2 MB, 3 GB too few."},
      {"point 3", "refused", "something else"},
      {"point 4", "deadlock", "tile 3 waits"},
      {"point 5", "deadlock", "two tiles wait"},
      {"point 6", "deadlock", "all wait"}};
  const std::string text = failure_table("failed", failures);
  EXPECT_THAT(text, HasSubstr("    3  deadlock  point 4      tile 3 waits\n"));
  EXPECT_THAT(text,
              HasSubstr("    2  refused   point 1      channel 3 has 1.5 GB, 12 kB too few."));
  EXPECT_THAT(text, HasSubstr("    1  refused   point 3      something else\n"));
  EXPECT_EQ(failure_table("failed", {}), "");
}

TEST(SweepTable, SaysWhichNotesItsPointsHave) {
  SweepTable some = table();
  some.rows[0].notes = {"zero has no effect with 1 replica", "of SRAM, 3 MB are not used"};
  some.rows[3].notes = {"of SRAM, 12 MB are not used"};
  const std::string text = to_table(some, 10);
  EXPECT_THAT(text, HasSubstr("notes\n"));
  EXPECT_THAT(text, HasSubstr("     2  point 0      of SRAM, 3 MB are not used\n"));
  EXPECT_THAT(text, HasSubstr("     1  point 0      zero has no effect with 1 replica\n"));
  EXPECT_THAT(to_csv(some),
              HasSubstr(",,\"zero has no effect with 1 replica; of SRAM, 3 MB are not used\"\n"));
}

TEST(SweepTable, NamesEveryNumberOfASummary) {
  trace::Summary summary;
  summary.iteration_time_ps = 9'007'199'254'740'993;
  summary.breakdown = {{"total", 4, {{"compute", 30}, {"bubble", 10}}},
                       {"stage 0", 4, {{"compute", 30}, {"bubble", 10}}}};
  const auto numbers = numbers_of(summary);
  EXPECT_EQ(numbers.at("iteration_time_ps"), "9007199254740993");
  EXPECT_EQ(numbers.at("breakdown.total.bubble.share"), "0.25");
  EXPECT_EQ(numbers.at("breakdown.stages.0.compute.mean_ps"), "30");
  EXPECT_FALSE(numbers.contains("result_digest"));
}

TEST(SweepTable, KnowsUnitsByTheEndOfTheName) {
  EXPECT_EQ(unit_of_number("throughput_samples_per_s"), "samples/s");
  EXPECT_EQ(unit_of_number("achieved_flops_per_s"), "FLOP/s");
  EXPECT_EQ(unit_of_number("events_per_s"), "1/s");
  EXPECT_EQ(unit_of_number("wall_s"), "s");
  EXPECT_EQ(unit_of_number("breakdown.total.compute.mean_ps"), "ps");
  EXPECT_EQ(unit_of_number("predicted_bytes"), "B");
  EXPECT_EQ(unit_of_number("tiles"), "");
}

TEST(SweepLog, LinesReadBackAsTheyWere) {
  SweepRow odd = row(7, "1.25", "a \"quoted\"\ttext, ümlauts");
  odd.notes = {"one", "two"};
  const std::string lines = to_json_line(odd) + "\n" + to_json_line(row(8, "3"));
  const std::vector<SweepRow> rows = rows_from_lines(lines);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].message, odd.message);
  EXPECT_EQ(rows[0].places, odd.places);
  EXPECT_EQ(rows[0].notes, odd.notes);
  EXPECT_EQ(rows[1].numbers, (std::vector<std::string>{"3", "9007199254740993"}));
}

TEST(SweepLog, SkipsWhatIsCutOrDamaged) {
  const std::string line = to_json_line(row(7, "1.25"));
  for (std::size_t length = 0; length + 1 < line.size(); ++length) {
    EXPECT_TRUE(rows_from_lines(line.substr(0, length)).empty()) << length;
    EXPECT_EQ(rows_from_lines(line.substr(0, length) + "\n" + line).size(), 1U) << length;
  }
  std::string damaged = line;
  damaged[line.find("1.25")] = '2';
  EXPECT_TRUE(rows_from_lines(damaged).empty());
  EXPECT_TRUE(rows_from_lines("[]\n5\n\"crc32c\"\n{\"crc32c\": 7}\n").empty());
}

TEST_F(SweepFolder, RemembersWhatItIsOf) {
  const std::string folder = (scratch_ / "out").string();
  const SweepState state{"/lab/sweep.yaml", {"a=1", "b=[2, 3]"}, "hash", 12};
  prepare_sweep_folder(folder, state, "axes: {}\n");
  const SweepState back = read_sweep_state(folder);
  EXPECT_EQ(back.sweep, state.sweep);
  EXPECT_EQ(back.overrides, state.overrides);
  EXPECT_EQ(back.hash, state.hash);
  EXPECT_EQ(back.points, 12U);
  EXPECT_TRUE(read_sweep_logs(folder).empty());
}

TEST_F(SweepFolder, JoinsLogsAndEmptiesThemForANewSweep) {
  const std::string folder = (scratch_ / "out").string();
  prepare_sweep_folder(folder, {}, "");
  for (int rank = 0; rank < 3; ++rank) {
    SweepLog log(sweep_log_path(folder, rank));
    log.append(row(static_cast<std::uint64_t>(3 - rank), "1"));
    log.append(row(1, "1"));
    log.sync();
  }
  const std::vector<SweepRow> rows = read_sweep_logs(folder);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].point, 1U);
  EXPECT_EQ(rows[2].point, 3U);
  fs::create_directory(scratch_ / "out" / "plots");
  prepare_sweep_folder(folder, {}, "");
  EXPECT_TRUE(read_sweep_logs(folder).empty());
  EXPECT_TRUE(fs::exists(scratch_ / "out" / "plots"));
  std::ofstream(scratch_ / "out" / "points" / "notes.txt") << "precious";
  EXPECT_THROW(prepare_sweep_folder(folder, {}, ""), ConfigError);
  EXPECT_TRUE(fs::exists(scratch_ / "out" / "sweep.json"));
}

TEST_F(SweepFolder, FilesOfEqualTablesAreEqual) {
  const auto text_of = [&](const char* name) {
    std::ifstream file(scratch_ / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  write_sweep_file((scratch_ / "a.h5").string(), table(), "tessera 1");
  write_sweep_file((scratch_ / "b.h5").string(), table(), "tessera 1");
  EXPECT_FALSE(text_of("a.h5").empty());
  EXPECT_EQ(text_of("a.h5"), text_of("b.h5"));
}

TEST_F(SweepFolder, TablesHaveNumbersWithUnits) {
  const std::string path = (scratch_ / "sweep.h5").string();
  write_sweep_file(path, table(), "tessera 1");
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  ASSERT_GE(file, 0);
  const hid_t points = H5Dopen2(file, "points", H5P_DEFAULT);
  ASSERT_GE(points, 0);
  EXPECT_GT(H5Aexists(points, "unit.iteration_time_ps"), 0);
  EXPECT_GT(H5Aexists(points, "description.strategy.tensor"), 0);
  struct Numbers {
    double tensor;
    double throughput;
  };
  const hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(Numbers));
  H5Tinsert(type, "strategy.tensor", HOFFSET(Numbers, tensor), H5T_NATIVE_DOUBLE);
  H5Tinsert(type, "throughput_samples_per_s", HOFFSET(Numbers, throughput), H5T_NATIVE_DOUBLE);
  std::vector<Numbers> rows(4);
  EXPECT_GE(H5Dread(points, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), 0);
  EXPECT_EQ(rows[3].tensor, 2);
  EXPECT_EQ(rows[0].throughput, 10.5);
  EXPECT_TRUE(std::isnan(rows[2].throughput));
  H5Tclose(type);
  H5Dclose(points);
  H5Fclose(file);
}

}  // namespace
}  // namespace tessera::explore::sweep_table_test
