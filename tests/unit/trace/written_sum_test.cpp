// Sums of files from what was written and what is read back.
#include "store/written_sum.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "store/posix_file.hpp"
#include "tessera/core/random.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::written_sum_test {
namespace {

std::vector<std::byte> noise(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::byte>(mix64(seed + i));
  }
  return bytes;
}

void append(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::app);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

TEST(WrittenSum, IsThatOfTheFileWhicheverPiecesAreKnown) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const TempFolder folder;
    const std::string path = folder.file("f");
    append(path, {});
    WrittenSum written;
    std::uint64_t place = 0;
    for (std::uint64_t piece = 0; piece < mix64(seed) % 12; ++piece) {
      const std::uint64_t dice = mix64(seed * 100 + piece);
      const std::vector<std::byte> bytes = noise(1 + dice % 5'000, dice);
      append(path, bytes);
      if (dice >> 32 & 1) {
        written.add(path, place, bytes);
      }
      place += bytes.size();
    }
    EXPECT_EQ(written.of(path), sum_file(path)) << "seed " << seed;
  }
}

TEST(WrittenSum, LeavesOutAPieceThatIsSomewhereElse) {
  const TempFolder folder;
  const std::string path = folder.file("f");
  const std::vector<std::byte> bytes = noise(1'000, 1);
  append(path, noise(100, 2));
  append(path, bytes);
  WrittenSum written;
  written.add(path, 0, bytes);
  written.add(path, 99, bytes);
  written.add(path, 5'000, bytes);
  EXPECT_EQ(written.of(path), sum_file(path));
}

// What was summed as it was written is not read again: damage behind the writer's back shows.
TEST(WrittenSum, OfATraceIsWhatWasWritten) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  TraceFile file(path, {row_table("a"), row_table("b")}, {}, std::chrono::hours(1));
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    file.append(0, row_of(i));
    file.append(i % 3 == 0 ? 1 : 0, row_of(mix64(i)));
    if (i % 30'000 == 0) {
      file.commit(SimTime::from_ps(static_cast<std::int64_t>(i)), i % 60'000 == 0);
    }
  }
  EXPECT_THROW(file.sum(), InternalError);
  file.close(SimTime::from_ps(1));
  const FileSum sum = file.sum();
  EXPECT_EQ(sum, sum_file(path));

  // A byte in the middle of the file is one of a chunk.
  std::fstream change(path, std::ios::binary | std::ios::in | std::ios::out);
  change.seekp(static_cast<std::streamoff>(sum.bytes / 2));
  const int byte = change.peek();
  change.seekp(static_cast<std::streamoff>(sum.bytes / 2));
  change.put(static_cast<char>(byte ^ 1));
  change.close();
  EXPECT_EQ(file.sum(), sum);
  EXPECT_NE(sum_file(path), sum);
}

}  // namespace
}  // namespace tessera::trace::test::written_sum_test
