// Writers that are killed, and disks that are full.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <new>
#include <thread>

#include "tessera/trace/trace_file.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::test::trace_fault_test {
namespace {

using ::testing::HasSubstr;
constexpr std::uint64_t chunk = 16'384;

// A counter that a child process shares with its parent.
class SharedCounter {
 public:
  SharedCounter()
      : memory_(::mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                       -1, 0)),
        counter_(new (memory_) Counter(0)) {}
  ~SharedCounter() { ::munmap(memory_, sizeof(Counter)); }
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  void set(std::uint64_t value) { counter_->store(value); }
  std::uint64_t get() const { return counter_->load(); }

 private:
  using Counter = std::atomic<std::uint64_t>;
  void* memory_;
  Counter* counter_;
};

// Writes for ever; `committed` is what must be readable from then on.
int write_steadily(const std::string& path, bool with_tails, SharedCounter& committed) {
  TraceFile file(path, {row_table("a"), row_table("b")}, {{"seed", "1"}},
                 with_tails ? std::chrono::milliseconds(0) : std::chrono::hours(1));
  for (std::uint64_t i = 0;;) {
    for (const std::uint64_t end = i + 3'000; i < end; ++i) {
      file.append(0, row_of(i));
      file.append(1, row_of(i));
    }
    file.commit(SimTime::from_ps(static_cast<std::int64_t>(i)));
    committed.set(with_tails ? i : i - i % chunk);
  }
}

TEST(TraceFault, KilledWriterLosesNoCommittedRow) {
  const TempFolder folder;
  std::uint64_t most = 0;
  for (std::uint64_t repetition = 0; repetition < 12; ++repetition) {
    const std::string path = folder.file("t" + std::to_string(repetition) + ".h5");
    SharedCounter committed;
    const pid_t child =
        start_child([&] { return write_steadily(path, repetition % 2 == 0, committed); });
    // Odd spans, so that the kill falls anywhere between two commits.
    std::this_thread::sleep_for(std::chrono::microseconds(15'000 + mix64(repetition) % 120'000));
    ::kill(child, SIGKILL);
    ASSERT_EQ(wait_for(child), 128 + SIGKILL);
    const std::uint64_t expected = committed.get();
    most = std::max(most, expected);
    if (expected == 0) {
      continue;  // killed before the first commit; the file may not even be there
    }
    const TraceReader reader(path);
    EXPECT_FALSE(reader.closed());
    EXPECT_EQ(reader.damage(), "");
    EXPECT_EQ(reader.attribute("seed"), "1");
    for (const char* table : {"a", "b"}) {
      const ReadTable rows = reader.read(table);
      EXPECT_GE(rows.rows, expected);
      EXPECT_EQ(first_wrong_row(rows), rows.rows);
    }
  }
  EXPECT_GT(most, 0U) << "no child came as far as a commit";
}

// What a child that meets a full disk reports in its exit code.
enum Outcome : int { all_written = 10, failed_once = 11, failed_to_create = 12, wrong = 13 };

int write_until_full(const std::string& path, rlim_t bytes) {
  limit_file_size(bytes);
  std::unique_ptr<TraceFile> file;
  const std::string at_first = message_of<IoError>([&] {
    file = std::make_unique<TraceFile>(path, std::vector{row_table("a")}, Attributes{},
                                       std::chrono::milliseconds(0));
  });
  if (file == nullptr) {
    const bool named = at_first.find(path + ": error: ") == 0 &&
                       at_first.find("File too large (errno 27)") != std::string::npos;
    return named ? failed_to_create : wrong;
  }
  const std::string first = message_of<IoError>([&] {
    for (std::uint64_t i = 0; i < 5 * chunk; ++i) {
      file->append(0, row_of(i));
      if (i % 3'000 == 0) {
        file->commit(SimTime::from_ps(1));
      }
    }
    file->close(SimTime::from_ps(2));
  });
  if (first.empty()) {
    return all_written;
  }
  // The same words from then on, whatever is called.
  const auto size = std::filesystem::file_size(path);
  const bool same = message_of<IoError>([&] { file->append(0, row_of(0)); }) == first &&
                    message_of<IoError>([&] { file->commit(SimTime::from_ps(3)); }) == first &&
                    message_of<IoError>([&] { file->close(SimTime::from_ps(3)); }) == first;
  const bool named = first.find(path + ": error: ") == 0 &&
                     first.find("File too large (errno 27)") != std::string::npos;
  file.reset();
  const bool untouched = std::filesystem::file_size(path) == size;
  return same && named && untouched ? failed_once : wrong;
}

class FullDisk : public ::testing::TestWithParam<rlim_t> {};

TEST_P(FullDisk, IsOneErrorAndCommittedRowsStay) {
  const TempFolder folder;
  const std::string path = folder.file("t.h5");
  const int outcome = wait_for(start_child([&] { return write_until_full(path, GetParam()); }));
  if (GetParam() >= 10'000'000) {
    ASSERT_EQ(outcome, all_written);
    EXPECT_EQ(first_wrong_row(TraceReader(path).read("a")), 5 * chunk);
    return;
  }
  if (GetParam() < 2'000) {
    ASSERT_EQ(outcome, failed_to_create);
    return;
  }
  ASSERT_EQ(outcome, failed_once);
  const TraceReader reader(path);
  const ReadTable rows = reader.read("a");
  EXPECT_EQ(first_wrong_row(rows), rows.rows);
  EXPECT_EQ(reader.damage(), "");
  if (GetParam() >= 500'000) {
    EXPECT_GE(rows.rows, 3'001U) << "the first commits fit";
  }
}

INSTANTIATE_TEST_SUITE_P(Limits, FullDisk,
                         ::testing::Values(0, 700, 20'000, 200'000, 500'000, 777'777, 1'500'000,
                                           10'000'000));

TEST(TraceFault, AFailedFileLeavesOthersAlone) {
  const TempFolder folder;
  const int outcome = wait_for(start_child([&] {
    TraceFile good(folder.file("good.h5"), {row_table("a")}, {}, std::chrono::milliseconds(0));
    good.append(0, row_of(0));
    good.commit(SimTime::zero());
    limit_file_size(300'000);
    TraceFile bad(folder.file("bad.h5"), {row_table("a")}, {});
    const std::string failure = message_of<IoError>([&] {
      for (std::uint64_t i = 0; i < 2 * chunk; ++i) {
        bad.append(0, row_of(i));
      }
      bad.close(SimTime::zero());
    });
    good.append(0, row_of(1));
    good.close(SimTime::from_ps(1));
    return failure.empty() ? wrong : failed_once;
  }));
  EXPECT_EQ(outcome, failed_once);
  const TraceReader reader(folder.file("good.h5"));
  EXPECT_TRUE(reader.closed());
  EXPECT_EQ(first_wrong_row(reader.read("a")), 2U);
}

}  // namespace
}  // namespace tessera::trace::test::trace_fault_test
