// How much memory there is, told by files as Linux writes them.
#include "tessera/core/memory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tessera::memory_test {
namespace {

constexpr std::uint64_t mebibyte = 1U << 20;

class Memory : public ::testing::Test {
 protected:
  Memory() {
    write("proc/meminfo",
          "MemTotal:  8388608 kB\nMemFree: 1 kB\nMemAvailable:  4194304 kB\n"
          "SwapTotal: 0 kB\nSwapFree: 0 kB\n");
  }
  ~Memory() override { std::filesystem::remove_all(root_); }

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = root_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  MemoryThere there() const { return memory_there(root_.string()); }

 private:
  std::filesystem::path root_ =
      std::filesystem::temp_directory_path() /
      ("tessera-memory-" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(Memory, IsTheMachinesWithoutAGroup) {
  EXPECT_EQ(there().most, 8192 * mebibyte);
  EXPECT_EQ(there().free, 4096 * mebibyte);
  EXPECT_EQ(there().whose, "this machine");
}

TEST_F(Memory, IsThatOfTheNarrowestGroup) {
  write("proc/self/cgroup", "0::/slurm/job_17\n");
  write("sys/fs/cgroup/slurm/job_17/memory.max", "max\n");
  write("sys/fs/cgroup/slurm/memory.max", "1073741824\n");
  write("sys/fs/cgroup/slurm/memory.current", "734003200\n");
  write("sys/fs/cgroup/slurm/memory.stat", "anon 1\ninactive_file 209715200\n");
  EXPECT_EQ(there().most, 1024 * mebibyte);
  EXPECT_EQ(there().free, 524 * mebibyte);  // what files are cached can be had
  EXPECT_EQ(there().whose, "the control group /slurm");
}

TEST_F(Memory, KnowsTheFirstVersionOfGroups) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/docker/1\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "104857600\n");
  EXPECT_EQ(there().most, 256 * mebibyte);
  EXPECT_EQ(there().free, 156 * mebibyte);
}

TEST_F(Memory, NoNumberOfAGroupIsNoLimit) {
  write("proc/self/cgroup", "0::/\n");
  write("sys/fs/cgroup/memory.max", "9223372036854771712\n");
  write("sys/fs/cgroup/memory.current", "4096\n");
  EXPECT_EQ(there().most, 8192 * mebibyte);
  EXPECT_EQ(there().free, 4096 * mebibyte);
}

}  // namespace
}  // namespace tessera::memory_test
