// Many values by number, of which few are held in memory.
#include "requests/column.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "requests/table.hpp"

namespace tessera::serving::column_test {
namespace {

using Numbers = Column<std::uint64_t>;

constexpr std::uint64_t few = Numbers::of_block * Numbers::most_blocks;
constexpr std::uint64_t many = 3 * few + 1234;

Numbers multiples_of_three(std::uint64_t count) {
  Numbers column;
  for (std::uint64_t number = 0; number < count; ++number) {
    column.push_back(3 * number);
  }
  column.finish();
  return column;
}

void expect_multiples_of_three(const Numbers& column, std::uint64_t count) {
  ASSERT_EQ(column.size(), count);
  EXPECT_EQ(column.back(), 3 * (count - 1));
  for (std::uint64_t number = 0; number < count; ++number) {
    ASSERT_EQ(column[number], 3 * number);
  }
  // Far apart, so that what is held is asked for again.
  for (std::uint64_t step = 0; step < 20'000; ++step) {
    const std::uint64_t number = step * 7'654'321 % count;
    ASSERT_EQ(column[number], 3 * number);
  }
}

// Where temporary files are made, until the end of a test.
class Temporary {
 public:
  explicit Temporary(const std::string& folder) {
    if (const char* const before = std::getenv("TMPDIR")) {
      before_ = before;
    }
    setenv("TMPDIR", folder.c_str(), 1);
  }
  ~Temporary() { before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

 private:
  std::string before_;
};

TEST(Column, HoldsFewInMemory) {
  const Numbers column = multiples_of_three(few);
  expect_multiples_of_three(column, few);
  EXPECT_EQ(column.resident_bytes(), few * sizeof(std::uint64_t));
}

TEST(Column, HoldsNoMoreOfMany) {
  Numbers column = multiples_of_three(many);
  const std::size_t before = column.resident_bytes();
  expect_multiples_of_three(column, many);
  EXPECT_EQ(column.resident_bytes(), before) << "predicted as long as nothing has been asked for";
  EXPECT_LE(column.resident_bytes(), (few + Numbers::of_block) * sizeof(std::uint64_t));
  const Numbers moved = std::move(column);
  expect_multiples_of_three(moved, many);
}

TEST(Column, GivesRangesWhereverTheyLie) {
  const Numbers column = multiples_of_three(many);
  const auto expect_range = [&](std::uint64_t begin, std::uint64_t end) {
    const auto range = column.range(begin, end);
    ASSERT_EQ(range.size(), end - begin);
    for (std::uint64_t place = 0; place < range.size(); ++place) {
      ASSERT_EQ(range[place], 3 * (begin + place));
    }
  };
  expect_range(5, 5);
  expect_range(1, 4);
  expect_range(4090, 4100);                               // two windows
  expect_range(0, 3 * std::uint64_t{Numbers::of_block});  // blocks in the file
  expect_range(many - 2 * Numbers::of_block, many);       // and in memory
  expect_range(many - 1, many);
}

TEST(Column, HoldsAllWhereThereIsNoPlaceForFiles) {
  const Temporary temporary("/nonexistent/folder");
  const Numbers column = multiples_of_three(many);
  expect_multiples_of_three(column, many);
  EXPECT_EQ(column.resident_bytes(), many * sizeof(std::uint64_t));
}

TEST(Column, LeavesNoFileBehind) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / "tessera_column_leaves_no_file";
  std::filesystem::create_directories(folder);
  {
    const Temporary temporary(folder.string());
    const Numbers column = multiples_of_three(many);
    EXPECT_TRUE(std::filesystem::is_empty(folder));
    expect_multiples_of_three(column, many);
  }
  std::filesystem::remove_all(folder);
}

// What request `number` of a large table asks for.
Request drawn(std::uint64_t number, SimTime arrival) {
  Request request;
  request.arrival = arrival;
  request.prompt = 1 + static_cast<std::uint32_t>(number % 911);
  request.generate = 1 + static_cast<std::uint32_t>(number % 77);
  request.prefix = static_cast<std::uint32_t>(number % 13);
  request.prefix_tokens = request.prefix > 0 ? 1 : 0;
  request.of_class = static_cast<std::uint32_t>(number % 3);
  request.adapter = static_cast<std::uint32_t>(number % 5);
  return request;
}

TEST(RequestTable, GivesWhatItWasGivenHoweverLarge) {
  // Neighbours change places, so that it has to be put in order.
  constexpr std::uint64_t count = 700'000;
  const SimTime gap = SimTime::from_ps(1'000'000);
  RequestTable table;
  table.set_piece_tokens(16);
  const auto pieces_of = [](std::uint64_t number) {
    std::vector<std::uint32_t> pieces(number % 4);
    std::iota(pieces.begin(), pieces.end(), static_cast<std::uint32_t>(number));
    return pieces;
  };
  for (std::uint64_t place = 0; place < count; ++place) {
    const std::uint64_t number = place ^ 1U;
    table.add(drawn(number, SimTime::from_ps(5) + gap * static_cast<std::int64_t>(number)),
              pieces_of(number));
  }
  table.finish(true);
  table.divide_times(2);
  EXPECT_FALSE(table.was_in_order());
  ASSERT_EQ(table.count(), count);
  for (std::uint64_t number = 0; number < count; number += 3) {
    const Request there = table.request(number);
    const Request given = drawn(number, gap * static_cast<std::int64_t>(number));
    ASSERT_EQ(there.arrival.ps(), given.arrival.ps() / 2);
    ASSERT_EQ(there.prompt, given.prompt);
    ASSERT_EQ(there.generate, given.generate);
    ASSERT_EQ(there.prefix, given.prefix);
    ASSERT_EQ(there.prefix_tokens, given.prefix_tokens);
    ASSERT_EQ(there.of_class, given.of_class);
    ASSERT_EQ(there.adapter, given.adapter);
    const auto pieces = table.pieces(number);
    ASSERT_EQ(std::vector<std::uint32_t>(pieces.begin(), pieces.end()), pieces_of(number));
  }
}

}  // namespace
}  // namespace tessera::serving::column_test
