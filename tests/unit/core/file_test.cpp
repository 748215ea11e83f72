// Files that are no files, and files without an end.
#include "tessera/core/file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace tessera::file_test {
namespace {

using ::testing::HasSubstr;

class RegularFile : public ::testing::Test {
 protected:
  RegularFile() { std::filesystem::create_directory(folder_); }
  ~RegularFile() override { std::filesystem::remove_all(folder_); }

  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string complaint(const std::string& path, std::uint64_t most = 1U << 20) {
    try {
      read_regular_file(path, most);
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      ("tessera-file-" +
       std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
};

TEST_F(RegularFile, IsReadWhole) {
  std::ofstream(path("a")) << std::string(200'000, 'x') << "end";
  std::filesystem::create_symlink(path("a"), path("link"));
  EXPECT_EQ(read_regular_file(path("link"), 1U << 20).size(), 200'003U);
  EXPECT_EQ(regular_file_size(path("link")), 200'003U);
}

TEST_F(RegularFile, OthersAreRefusedWithoutWaiting) {
  EXPECT_THAT(complaint("/dev/zero"), HasSubstr("cannot read /dev/zero: it is no regular file"));
  EXPECT_THAT(complaint(path("none")), HasSubstr("No such file"));
  EXPECT_THAT(complaint(path(".")), HasSubstr("Is a directory"));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(complaint(path("pipe")), HasSubstr("it is no regular file"));
}

TEST_F(RegularFile, TooLargeIsRefusedBeforeItIsRead) {
  std::ofstream(path("a")) << "x";
  std::filesystem::resize_file(path("a"), std::uint64_t{1} << 40);  // sparse
  EXPECT_THAT(complaint(path("a")), HasSubstr("it is too large: more than 1 MiB"));
}

}  // namespace
}  // namespace tessera::file_test
