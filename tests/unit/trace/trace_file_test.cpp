#include "tessera/trace/trace_file.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstring>
#include <limits>
#include <thread>

#include "trace_test_support.hpp"

namespace tessera::trace::test::trace_file_test {
namespace {

using ::testing::HasSubstr;
constexpr std::uint64_t chunk = 16'384;
constexpr std::uint64_t stage = 64;  // rows until they are spread
constexpr auto never = std::chrono::hours(1);

struct AllTypes {
  std::uint8_t a;
  std::uint16_t b;
  std::uint32_t c;
  std::uint64_t d;
  std::int64_t e;
  double f;
  std::array<char, 32> g;
  std::array<char, 64> h;
  std::uint8_t last;
};

TableSpec all_types_table() {
  return describe<AllTypes>(
      "all", "every type",
      {field("a", &AllTypes::a, "", "one byte"), field("b", &AllTypes::b, "", "two bytes"),
       field("c", &AllTypes::c, "", "four bytes"), field("d", &AllTypes::d, "B", "eight bytes"),
       field("e", &AllTypes::e, "ps", "signed"), field("f", &AllTypes::f, "FLOP/s", "real"),
       field("g", &AllTypes::g, "", "short text"), field("h", &AllTypes::h, "", "text, µ and all"),
       field("last", &AllTypes::last, "", "behind a text")});
}

TEST(TraceFile, GivesBackEveryFieldType) {
  const TempFolder folder;
  const std::string path = folder.file("trace.00000.h5");
  AllTypes record{};
  std::memset(static_cast<void*>(&record), 0xAB,
              sizeof(record));  // padding that must not be stored
  record.a = 255;
  record.b = 65'535;
  record.c = 4'294'967'295;
  record.d = std::numeric_limits<std::uint64_t>::max();
  record.e = std::numeric_limits<std::int64_t>::min();
  record.f = 0.1;
  record.g = {"short"};
  record.h.fill('x');
  record.last = 7;
  {
    TraceFile file(path, {all_types_table()}, {});
    file.append(0, record);
    file.close(SimTime::from_ps(5));
  }
  const ReadTable table = TraceReader(path).read("all");
  ASSERT_EQ(table.rows, 1U);
  const auto back = table.record<AllTypes>(0);
  EXPECT_EQ(back.a, record.a);
  EXPECT_EQ(back.b, record.b);
  EXPECT_EQ(back.c, record.c);
  EXPECT_EQ(back.d, record.d);
  EXPECT_EQ(back.e, record.e);
  EXPECT_EQ(back.f, record.f);
  EXPECT_EQ(back.g, record.g);
  EXPECT_EQ(back.h, record.h);
  EXPECT_EQ(back.last, record.last);
  EXPECT_EQ(table.bytes[1], std::byte{0}) << "padding between fields";
  EXPECT_EQ(table.bytes[sizeof(AllTypes) - 1], std::byte{0}) << "padding behind the last field";
}

TEST(TraceFile, GivesBackTheSchema) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  const TableSpec written = all_types_table();
  TraceFile(path, {written, row_table("rows")}, {}).close(SimTime::zero());
  const TraceReader reader(path);
  EXPECT_EQ(reader.table_names(), (std::vector<std::string>{"all", "rows"}));
  const TableSpec& read = reader.spec("all");
  EXPECT_EQ(read.description, written.description);
  EXPECT_EQ(read.row_bytes, sizeof(AllTypes));
  ASSERT_EQ(read.fields.size(), written.fields.size());
  for (std::size_t i = 0; i < read.fields.size(); ++i) {
    EXPECT_EQ(read.fields[i].name, written.fields[i].name);
    EXPECT_EQ(read.fields[i].type, written.fields[i].type);
    EXPECT_EQ(read.fields[i].offset, written.fields[i].offset);
    EXPECT_EQ(read.fields[i].unit, written.fields[i].unit);
    EXPECT_EQ(read.fields[i].description, written.fields[i].description);
  }
}

TEST(TraceFile, KeepsTheAttributes) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  const std::string long_text(200'000, 'y');
  TraceFile(path, {row_table("rows")}, {{"seed", "42"}, {"empty", ""}, {"long", long_text}})
      .close(SimTime::zero());
  const TraceReader reader(path);
  EXPECT_EQ(reader.attribute("seed"), "42");
  EXPECT_EQ(reader.attribute("empty"), "");
  EXPECT_EQ(reader.attribute("long"), long_text);
  EXPECT_EQ(reader.attribute("absent"), "");
  EXPECT_EQ(reader.attribute("file_type"), "tessera-trace");
  EXPECT_EQ(reader.attribute("format_version"), "1.9");
  EXPECT_EQ(reader.attribute("time_unit"), "ps");
  EXPECT_EQ(reader.attributes().size(), 6U);
}

TEST(TraceFile, CommitsWholeChunksAndClosesWithTheRest) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  {
    TraceFile file(path, {row_table("a"), row_table("b"), row_table("unused")}, {}, never);
    const std::size_t at_first = file.buffered_bytes();
    EXPECT_LT(at_first, 200'000U);
    for (std::uint64_t i = 0; i < 2 * chunk + 10; ++i) {
      file.append(0, row_of(i));
    }
    file.append(1, row_of(0));
    EXPECT_GE(file.buffered_bytes(), at_first + 2 * stage * sizeof(Row));
    EXPECT_LT(file.buffered_bytes(), at_first + 2 * chunk * sizeof(Row))
        << "nothing for the unused table, next to nothing for that of one row, one chunk for the "
           "other, and one for what is on its way to the file";
    EXPECT_EQ(file.rows(0), 2 * chunk + 10);
    file.commit(SimTime::from_ps(77));
    // Destroyed without `close`: the tails are not written.
  }
  {
    const TraceReader reader(path);
    EXPECT_EQ(reader.committed_rows("a"), 2 * chunk);
    EXPECT_EQ(reader.committed_rows("b"), 0U);
    EXPECT_EQ(reader.committed_time(), SimTime::from_ps(77));
    EXPECT_EQ(reader.damage(), "");
    EXPECT_TRUE(reader.closed());
    EXPECT_EQ(first_wrong_row(reader.read("a")), 2 * chunk);
  }
  std::filesystem::remove(path);
  {
    TraceFile file(path, {row_table("a")}, {}, never);
    for (std::uint64_t i = 0; i < chunk + 10; ++i) {
      file.append(0, row_of(i));
    }
    file.close(SimTime::from_ps(99));
    file.close(SimTime::from_ps(100));
    EXPECT_EQ(file.rows(0), chunk + 10);
    EXPECT_THROW(file.append(0, row_of(0)), InternalError);
    EXPECT_THROW(file.commit(SimTime::zero()), InternalError);
  }
  const TraceReader reader(path);
  EXPECT_EQ(reader.committed_rows("a"), chunk + 10);
  EXPECT_EQ(reader.committed_time(), SimTime::from_ps(99));
}

TEST(TraceFile, TrustsCommitsNotExtents) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  {
    TraceFile file(path, {row_table("a")}, {}, never);
    for (std::uint64_t i = 0; i < 3 * chunk; ++i) {
      file.append(0, row_of(i));
      if (i == chunk) {
        file.commit(SimTime::from_ps(1));
      }
    }
    // Two more chunks are in the file now, but in no commit.
  }
  const TraceReader reader(path);
  EXPECT_EQ(reader.committed_rows("a"), chunk);
  EXPECT_EQ(reader.read("a").rows, chunk);
}

TEST(TraceFile, WritesTailsWhenTheirTimeHasCome) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  constexpr std::uint64_t rows = chunk + 4'000;
  {
    TraceFile file(path, {row_table("a"), row_table("b")}, {}, std::chrono::milliseconds(0));
    for (std::uint64_t i = 0; i < rows; ++i) {
      file.append(0, row_of(i));
      if (i % 3 == 0) {
        file.append(1, row_of(i / 3));
      }
      if (i % 1'000 == 999) {
        file.commit(SimTime::from_ps(static_cast<std::int64_t>(i)));
      }
    }
    file.commit(SimTime::from_ps(rows));
  }
  const TraceReader reader(path);
  EXPECT_EQ(reader.damage(), "");
  EXPECT_EQ(first_wrong_row(reader.read("a")), rows);
  EXPECT_EQ(first_wrong_row(reader.read("b")), (rows + 2) / 3);
  const ReadTable part = reader.read("a", chunk - 2, 5);
  ASSERT_EQ(part.rows, 5U);
  EXPECT_EQ(part.record<Row>(4), row_of(chunk + 2));
  EXPECT_EQ(reader.read("a", rows - 1, 5).rows, 1U);
  EXPECT_EQ(reader.read("a", rows + 9, 5).rows, 0U);
}

TEST(TraceFile, BuffersLongRowsInSmallerChunks) {
  struct Wide {
    std::array<char, 64> a, b, c;
  };
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  {
    TraceFile file(path,
                   {describe<Wide>("wide", "long rows",
                                   {field("a", &Wide::a, "", ""), field("b", &Wide::b, "", ""),
                                    field("c", &Wide::c, "", "")})},
                   {});
    const std::size_t before = file.buffered_bytes();
    Wide wide{};
    wide.b = {"middle"};
    file.append(0, wide);
    EXPECT_EQ(file.buffered_bytes() - before, stage * sizeof(Wide));
    std::memset(&wide, 'x', sizeof(wide));
    for (std::size_t row = 0; row < stage; ++row) {
      file.append(0, wide);
    }
    EXPECT_EQ(file.buffered_bytes() - before, (stage + 4'096) * sizeof(Wide));
    file.close(SimTime::zero());
  }
  EXPECT_STREQ(TraceReader(path).read("wide").record<Wide>(0).b.data(), "middle");
}

TEST(TraceFile, ServesRanksThatAreThreads) {
  const TempFolder folder;
  constexpr std::uint64_t rows = chunk + 100;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&folder, rank] {
      TraceFile file(folder.file(std::to_string(rank)), {row_table("a")}, {});
      for (std::uint64_t i = 0; i < rows; ++i) {
        file.append(0, row_of(i, rank));
        if (i % 5'000 == 0) {
          file.commit(SimTime::from_ps(1));
        }
      }
      file.close(SimTime::from_ps(2));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const TraceReader reader(folder.file(std::to_string(rank)));
    EXPECT_EQ(first_wrong_row(reader.read("a"), rank), rows);
  }
}

TEST(TraceFile, RefusesWhatMakesNoSense) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  const TableSpec good = row_table("a");
  TableSpec overlapping = good;
  overlapping.fields[1].offset = 4;
  TableSpec outside = good;
  outside.fields.back().offset = 1'000;
  TableSpec twice = good;
  twice.fields[1].name = twice.fields[0].name;
  TableSpec nameless = row_table("");
  TableSpec reserved = row_table("commit");
  for (const TableSpec& bad : {overlapping, outside, twice, nameless, reserved}) {
    EXPECT_THROW(TraceFile(path, {bad}, {}), InternalError);
  }
  EXPECT_THROW(TraceFile(path, {good, good}, {}), InternalError);
  EXPECT_THROW(TraceFile(path, {}, {}), InternalError);
  EXPECT_FALSE(std::filesystem::exists(path));

  TraceFile file(path, {good}, {});
  EXPECT_THROW(file.append(1, row_of(0)), InternalError);
  EXPECT_THROW(file.append(0, std::uint64_t{1}), InternalError);
  EXPECT_THROW(file.rows(1), InternalError);
}

TEST(TraceFile, NamesTheFileAndTheReason) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  write_contents(path, "here already");
  const auto create = [](const std::string& where) {
    return message_of<IoError>([&] { TraceFile(where, {row_table("a")}, {}); });
  };
  EXPECT_EQ(create(path), path + ": error: cannot create the file: File exists (errno 17)");
  EXPECT_EQ(contents_of(path), "here already");
  EXPECT_THAT(create(folder.file("no/such/t.h5")), HasSubstr("No such file or directory"));
}

TEST(TraceFile, KnowsTheLibrary) {
  EXPECT_THAT(hdf5_version(), ::testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

}  // namespace
}  // namespace tessera::trace::test::trace_file_test
