// Who writes into a folder: one process, or the ranks of one run, at a time.
//
// The lock is a file `tessera.lock` in the folder that names its owner: user, host, process and
// when that process started. It is made aside, whole, and linked to its name, which one process
// alone can do, on shared file systems too (open(2), under O_EXCL); flock(2) alone would hold on
// one host, or on none. An owner that was killed leaves its lock behind. It is taken over where it
// is certain that the owner is gone: on the same host, when no process has its number and start, or
// the host was started again since. Ranks beside rank 0 on its host are named too, and must be gone
// as well. Of an owner on another host nothing can be known from here, and its lock is refused.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::trace {

inline constexpr std::string_view lock_name = "tessera.lock";

// Whether a file of a folder is a lock, or one being made: those who empty a folder leave it.
bool is_lock_file(std::string_view name);

// Says which process this is, for take() in another one.
std::string own_process();

class FolderLock {
 public:
  FolderLock() = default;
  // Gives the folder back, and removes it where take() made it and it is empty.
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  // Takes `folder`, which is made with its parents where it is not there. Called once, by rank 0
  // before anything is written or removed; reading needs no lock. `ranks`: own_process() of all
  // that will write there. Throws ConfigError that names the owner when another process has it, or
  // may have it; IoError.
  void take(const std::string& folder, const std::vector<std::string>& ranks = {});

 private:
  std::string folder_;  // empty: nothing is held
  std::string text_;    // of our lock
  std::string made_;    // the topmost folder that was not there
};

}  // namespace tessera::trace
