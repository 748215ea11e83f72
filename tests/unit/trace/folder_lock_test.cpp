// Who may write into a folder.
#include "tessera/trace/folder_lock.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tessera/trace/store/json.hpp"
#include "trace_test_support.hpp"

namespace tessera::trace::folder_lock_test {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string lock_in(const TempFolder& folder) {
  return folder.file(std::string(lock_name));
}

Json read_lock(const TempFolder& folder) {
  std::ifstream file(lock_in(folder));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return Json::parse(text).value_or(Json());
}

void write_lock(const TempFolder& folder, const std::string& text) {
  std::ofstream(lock_in(folder)) << text;
}

// The lock of a process that has ended, as a kill leaves it.
void leave_lock(const TempFolder& folder) {
  const pid_t child = ::fork();
  if (child == 0) {
    FolderLock lock;
    lock.take(folder.path());
    ::_exit(0);  // without destructors
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(std::filesystem::exists(lock_in(folder)));
}

std::string refusal(const std::string& folder) {
  return message_of<ConfigError>([&] {
    FolderLock second;
    second.take(folder);
  });
}

TEST(FolderLock, NamesItsOwnerAndGoesWithIt) {
  const TempFolder folder;
  {
    FolderLock lock;
    lock.take(folder.path());
    EXPECT_EQ(read_lock(folder).at("pid").get<std::int64_t>(), ::getpid());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FolderLock, IsRefusedWhileItsOwnerLives) {
  const TempFolder folder;
  FolderLock lock;
  lock.take(folder.path());
  EXPECT_THAT(refusal(folder.path()),
              AllOf(HasSubstr("is in use"), HasSubstr("process " + std::to_string(::getpid())),
                    HasSubstr("wait until it has ended")));
  EXPECT_EQ(read_lock(folder).at("pid").get<std::int64_t>(), ::getpid());
}

TEST(FolderLock, IsRefusedWhereItsFileIsAPipeOrHasNoEnd) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo(lock_in(folder).c_str(), 0600), 0);
  EXPECT_THAT(refusal(folder.path()), HasSubstr("a lock that does not say whose it is"));
  std::filesystem::remove(lock_in(folder));
  std::filesystem::create_symlink("/dev/zero", lock_in(folder));
  EXPECT_THAT(refusal(folder.path()), HasSubstr("a lock that does not say whose it is"));
}

TEST(FolderLock, LeavesNoFolderWhereItCannotBeWritten) {
  const TempFolder folder;
  const std::string made = folder.file("a/b");
  const pid_t child = start_child([&] {
    limit_file_size(0);
    return message_of<IoError>([&] {
             FolderLock lock;
             lock.take(made);
           }).empty()
               ? 1
               : 0;
  });
  EXPECT_EQ(wait_for(child), 0);
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
}

// Rank 0 was killed, another rank of the run is still at work.
TEST(FolderLock, IsRefusedWhileAnotherRankLives) {
  const TempFolder folder;
  const std::string here = own_process();
  const pid_t child = ::fork();
  if (child == 0) {
    FolderLock lock;
    lock.take(folder.path(), {own_process(), here});
    ::_exit(0);  // without destructors
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(read_lock(folder).at("ranks").items().size(), 1U);
  EXPECT_THAT(refusal(folder.path()), HasSubstr("process " + std::to_string(::getpid()) + " of "));
  Json lock = read_lock(folder);
  lock["ranks"] = Json::list();
  lock["ranks"].push_back({{"pid", child}, {"started_ticks", 1}});
  write_lock(folder, lock.text());
  FolderLock second;
  second.take(folder.path());  // now all are gone
}

TEST(FolderLock, OfAKilledProcessIsTakenOver) {
  const TempFolder folder;
  leave_lock(folder);
  FolderLock lock;
  lock.take(folder.path());
  EXPECT_EQ(read_lock(folder).at("pid").get<std::int64_t>(), ::getpid());
}

TEST(FolderLock, OfANumberThatWasGivenAgainIsTakenOver) {
  const TempFolder folder;
  leave_lock(folder);
  Json lock = read_lock(folder);
  lock["pid"] = static_cast<std::int64_t>(::getpid());  // lives, and began at another time
  lock["started_ticks"] = std::uint64_t{1};
  write_lock(folder, lock.text());
  FolderLock taken;
  taken.take(folder.path());
  EXPECT_EQ(read_lock(folder).at("pid").get<std::int64_t>(), ::getpid());
  EXPECT_NE(read_lock(folder).text(), lock.text());
}

TEST(FolderLock, OfAHostThatWasStartedAgainIsTakenOver) {
  const TempFolder folder;
  leave_lock(folder);
  Json lock = read_lock(folder);
  if (lock.at("machine").get<std::string>().empty()) {
    GTEST_SKIP() << "this machine has no /etc/machine-id";
  }
  lock["boot"] = "another";
  write_lock(folder, lock.text());
  FolderLock taken;
  taken.take(folder.path());
  EXPECT_EQ(read_lock(folder).at("pid").get<std::int64_t>(), ::getpid());
  EXPECT_NE(read_lock(folder).text(), lock.text());
}

TEST(FolderLock, OfAnotherHostOrContainerIsNeverTaken) {
  const TempFolder folder;
  leave_lock(folder);
  const Json own = read_lock(folder);
  for (const char* key : {"host", "machine", "pid_namespace"}) {
    Json lock = own;
    lock[key] = "another";
    lock["user"] = "mary";
    write_lock(folder, lock.text());
    EXPECT_THAT(refusal(folder.path()),
                AllOf(HasSubstr("of mary"), HasSubstr("remove '" + lock_in(folder) + "'")));
    EXPECT_EQ(read_lock(folder).at(key).get<std::string>(), "another");
  }
}

TEST(FolderLock, ThatCannotBeReadIsNotTaken) {
  const TempFolder folder;
  for (const char* text : {"", "{}", "not json"}) {
    write_lock(folder, text);
    EXPECT_THAT(refusal(folder.path()), HasSubstr("does not say whose it is"));
  }
}

TEST(FolderLock, OneOfManyGetsAStaleOne) {
  const TempFolder folder;
  leave_lock(folder);
  // Each ends with 0 when it had the lock; all hold it until all have tried.
  std::array<int, 2> gate{};
  ASSERT_EQ(::pipe(gate.data()), 0);
  constexpr int contenders = 8;
  std::array<pid_t, contenders> children{};
  for (pid_t& child : children) {
    child = ::fork();
    if (child == 0) {
      ::close(gate[1]);
      int code = 1;
      FolderLock lock;
      try {
        lock.take(folder.path());
        code = 0;
      } catch (const std::exception&) {
      }
      char byte = 0;
      static_cast<void>(::read(gate[0], &byte, 1));  // until the parent closes its end
      ::_exit(code);
    }
  }
  ::usleep(1'500'000);
  ::close(gate[1]);
  ::close(gate[0]);
  int winners = 0;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    winners += WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 1 : 0;
  }
  EXPECT_EQ(winners, 1);
}

TEST(FolderLock, MakesFoldersAndTakesThemAwayWhenTheyStayEmpty) {
  const TempFolder folder;
  {
    FolderLock lock;
    lock.take(folder.file("a/b"));
    EXPECT_TRUE(std::filesystem::is_directory(folder.file("a/b")));
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
  {
    FolderLock lock;
    lock.take(folder.file("a/b"));
    std::ofstream(folder.file("a/kept")) << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(folder.file("a/b")));
  EXPECT_TRUE(std::filesystem::exists(folder.file("a/kept")));
}

}  // namespace
}  // namespace tessera::trace::folder_lock_test
