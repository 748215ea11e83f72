#include "tessera/trace/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include "store/posix_file.hpp"
#include "store/process_identity.hpp"
#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

namespace fs = std::filesystem;

// A lock that cannot be read yet may be one that is just being written, or that went meanwhile.
constexpr int most_tries = 20;
constexpr std::chrono::milliseconds between_tries{50};
// Owner and ranks of one host, some 60 bytes each.
constexpr std::uint64_t most_bytes_of_lock = std::uint64_t{1} << 22U;

// Removed when it goes out of sight.
class AsideFile {
 public:
  AsideFile(std::string path, const std::string& text) : path_(std::move(path)) {
    Descriptor file(path_, O_WRONLY | O_CREAT | O_TRUNC);
    try {
      file.write(text);
      file.sync();
      file.close();
    } catch (const IoError&) {
      ::unlink(path_.c_str());
      throw;
    }
  }
  ~AsideFile() { ::unlink(path_.c_str()); }
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;

  const std::string& path() const { return path_; }
  // A link may have been made although its answer was lost on the way.
  bool has_two_names() const {
    struct stat found {};
    return ::stat(path_.c_str(), &found) == 0 && found.st_nlink == 2;
  }

 private:
  std::string path_;
};

// Whether the lock is ours now; not when another one is there.
bool make_lock(const AsideFile& aside, const std::string& lock, const std::string& text) {
  if (::link(aside.path().c_str(), lock.c_str()) == 0 || aside.has_two_names()) {
    return true;
  }
  if (errno == EEXIST) {
    return false;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) {
    throw_errno(lock, "make the lock");
  }
  // A file system without links.
  const int made = ::open(lock.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (made < 0 && errno == EEXIST) {
    return false;
  }
  if (made < 0) {
    throw_errno(lock, "make the lock");
  }
  ::close(made);
  Descriptor file(lock, O_WRONLY);
  file.write(text);
  file.sync();
  return true;
}

std::optional<std::string> text_of(const std::string& path) {
  try {
    return read_file(path, most_bytes_of_lock);
  } catch (const IoError&) {
    return std::nullopt;
  }
}

// Puts our lock in the place of one whose owner has ended on this host. Among processes of one
// host flock says who may; whoever comes second finds another file under the name. Not done when
// somebody else was faster, or where files cannot be locked so.
bool take_over(const AsideFile& aside, const std::string& lock, const std::string& stale) {
  const int file = ::open(lock.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    return false;
  }
  struct stat held {};
  struct stat named {};
  const bool done = ::flock(file, LOCK_EX | LOCK_NB) == 0 && ::fstat(file, &held) == 0 &&
                    ::stat(lock.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
                    held.st_dev == named.st_dev && text_of(lock) == stale &&
                    std::rename(aside.path().c_str(), lock.c_str()) == 0;
  ::close(file);
  return done;
}

// The text of a lock: its owner, and the ranks beside it on the same host, of which alone something
// can be known.
std::string text_for(const ProcessIdentity& own, const std::vector<std::string>& ranks) {
  Json lock = to_json(own);
  Json beside = Json::list();
  for (const std::string& each : ranks) {
    const std::optional<ProcessIdentity> rank = identity_from(each);
    if (rank && rank->pid != own.pid && rank->host == own.host && rank->boot == own.boot &&
        rank->namespace_ == own.namespace_) {
      beside.push_back({{"pid", rank->pid}, {"started_ticks", rank->started}});
    }
  }
  if (!beside.items().empty()) {
    lock["ranks"] = beside;
  }
  return lock.text(1) + "\n";
}

// Puts the first of the owner and its ranks that still runs into `owner`.
Presence presence_of_all(ProcessIdentity& owner, const std::string& text) {
  const Presence first = presence_of(owner);
  const std::optional<Json> lock = Json::parse(text);
  const Json* const ranks = lock ? lock->find("ranks") : nullptr;
  if (first != Presence::gone || ranks == nullptr) {
    return first;
  }
  try {
    for (const Json& each : ranks->items()) {
      ProcessIdentity rank = owner;
      each.at("pid").get_to(rank.pid);
      each.at("started_ticks").get_to(rank.started);
      if (presence_of(rank) == Presence::runs) {
        owner = rank;
        return Presence::runs;
      }
    }
  } catch (const JsonError&) {
    return first;  // nobody that could be looked for
  }
  return first;
}

[[noreturn]] void refuse(const std::string& folder, const std::string& lock,
                         const std::optional<ProcessIdentity>& owner, bool runs) {
  const std::string head = "the folder is in use: ";
  const std::string remedy = "; if that has ended, remove '" + lock + "'";
  if (!owner) {
    throw ConfigError(
        {folder, 0, 0, head + "it holds a lock that does not say whose it is" + remedy});
  }
  const std::string who = head + "process " + std::to_string(owner->pid) + " of " + owner->user +
                          " on host " + owner->host + " has it since " + owner->since;
  throw ConfigError({folder, 0, 0,
                     runs ? who + "; wait until it has ended, or give another folder"
                          : who + ", and whether it still runs cannot be told from here" + remedy});
}

// The topmost of the folders above and at `folder` that is not there; empty when all are.
fs::path first_missing(const fs::path& folder) {
  fs::path missing;
  for (fs::path at = folder; !at.empty() && !fs::exists(at); at = at.parent_path()) {
    missing = at;
  }
  return missing;
}

// Removes `folder` and those above it up to `made`, which was not there before; what holds
// something stays.
void remove_empty(const fs::path& folder, const fs::path& made) {
  std::error_code ignored;
  for (fs::path at = folder; !made.empty() && fs::remove(at, ignored) && at != made;
       at = at.parent_path()) {
  }
}

// Waits for a lock that is just being written, and refuses one that is held.
void hold(const std::string& folder, const std::string& lock, const std::string& shown,
          const ProcessIdentity& own, const std::string& text) {
  for (int tries = 0;; ++tries) {
    const AsideFile aside(lock + "." + own.host + "." + std::to_string(own.pid), text);
    if (make_lock(aside, lock, text)) {
      return;
    }
    const std::optional<std::string> other = text_of(lock);
    std::optional<ProcessIdentity> owner = other ? identity_from(*other) : std::nullopt;
    const Presence presence = owner ? presence_of_all(*owner, *other) : Presence::unknown;
    if (presence == Presence::gone && take_over(aside, lock, *other)) {
      return;
    }
    if (presence == Presence::runs || tries >= most_tries ||
        (owner && presence == Presence::unknown)) {
      refuse(folder, shown, owner, presence == Presence::runs);
    }
    std::this_thread::sleep_for(between_tries);
  }
}

}  // namespace

bool is_lock_file(std::string_view name) {
  return name.starts_with(lock_name);
}

std::string own_process() {
  return to_json(own_identity()).text();
}

void FolderLock::take(const std::string& folder, const std::vector<std::string>& ranks) {
  ensure(folder_.empty() && !folder.empty(), "a lock is taken once, of a folder");
  // As it is now: the process may change its own folder.
  const fs::path whole = fs::absolute(folder).lexically_normal();
  try {
    if (fs::exists(whole) && !fs::is_directory(whole)) {
      throw ConfigError({folder, 0, 0, "the output folder is not a folder"});
    }
    made_ = first_missing(whole.has_filename() ? whole : whole.parent_path()).string();
    fs::create_directories(whole);
  } catch (const fs::filesystem_error& error) {
    throw IoError(error.path1().string() + ": error: cannot prepare the output folder: " +
                  error.code().message() + " (errno " + std::to_string(error.code().value()) + ")");
  }
  const std::string shown = (fs::path(folder) / lock_name).string();
  const std::string lock = (whole / lock_name).string();
  const ProcessIdentity own = own_identity();
  const std::string text = text_for(own, ranks);
  try {
    hold(folder, lock, shown, own, text);
  } catch (const IoError&) {
    remove_empty(whole, made_);
    throw;
  }
  folder_ = whole.string();
  text_ = text;
}

FolderLock::~FolderLock() {
  if (folder_.empty()) {
    return;
  }
  const std::string lock = (fs::path(folder_) / lock_name).string();
  if (text_of(lock) == text_) {  // else it was removed by hand, and the folder taken by another
    ::unlink(lock.c_str());
  }
  remove_empty(folder_, made_);
}

}  // namespace tessera::trace
