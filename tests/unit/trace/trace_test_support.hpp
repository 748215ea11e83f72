// What the tests of the trace room share: a table, its rows, and work in a child process.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace::test {

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "tessera trace XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = pattern;
  }
  ~TempFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A row whose every field follows from its number, and hardly packs.
struct Row {
  std::uint64_t number;
  std::uint64_t noise;
  std::int64_t negative;
  std::uint32_t low;
  std::uint32_t rank;
  friend bool operator==(const Row&, const Row&) = default;
};

inline Row row_of(std::uint64_t number, std::uint32_t rank = 0) {
  const std::uint64_t noise = mix64(number + 1 + (std::uint64_t{rank} << 40));
  return {number, noise, -static_cast<std::int64_t>(number), static_cast<std::uint32_t>(noise),
          rank};
}

inline TableSpec row_table(const std::string& name) {
  return describe<Row>(name, "rows of a test",
                       {field("number", &Row::number, "", "number of the row"),
                        field("noise", &Row::noise, "B", "hash of the number"),
                        field("negative", &Row::negative, "ps", "minus the number"),
                        field("low", &Row::low, "", "low half of the hash"),
                        field("rank", &Row::rank, "", "who wrote it")});
}

// The first of rows [0, rows) of `table` that is not what was written; `rows` when all are right.
inline std::uint64_t first_wrong_row(const ReadTable& table, std::uint32_t rank = 0) {
  std::uint64_t row = 0;
  while (row < table.rows && table.record<Row>(row) == row_of(row, rank)) {
    ++row;
  }
  return row;
}

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_contents(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

// Files of this process may not grow beyond `bytes`; a write that would gets EFBIG.
inline void limit_file_size(rlim_t bytes) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}
// Known before all other handlers, so that it runs after them: counts of coverage, which are
// written at the very end, are cut by no limit.
inline const int lifts_the_limit_at_exit = std::atexit([] {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_FSIZE, &limit);
});

// Starts `body` in a child; its result is the exit code. An exception ends the child with 99, more
// than `seconds` with SIGALRM.
template <class Body>
pid_t start_child(Body body, unsigned seconds = 20) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(seconds);
    int code = 99;
    try {
      code = body();
    } catch (...) {
    }
    // With handlers: a crash of the library at exit must be seen.
    std::exit(code);
  }
  return child;
}

// Waits; the exit code, or 128 + signal.
inline int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What `body` says when it throws an Error of kind `Kind`; "" when it does not.
template <class Kind, class Body>
std::string message_of(Body body) {
  try {
    body();
  } catch (const Kind& error) {
    return error.what();
  }
  return "";
}

}  // namespace tessera::trace::test
