#include "tessera/core/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

namespace tessera {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw FileError(path, reason);
}

[[noreturn]] void fail_by(const std::string& path, int error) {
  fail(path, std::generic_category().message(error));
}

std::uint64_t size_of(const std::string& path, const struct stat& found) {
  if (S_ISDIR(found.st_mode)) {
    fail_by(path, EISDIR);
  }
  if (!S_ISREG(found.st_mode)) {
    fail(path, "it is no regular file but a device, pipe or socket");
  }
  return static_cast<std::uint64_t>(found.st_size);
}

class OpenFile {
 public:
  // O_NONBLOCK: a pipe that took the file's place meanwhile is not waited for.
  explicit OpenFile(const std::string& path)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (descriptor_ < 0) {
      fail_by(path, errno);
    }
  }
  ~OpenFile() { ::close(descriptor_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

std::string too_large(std::uint64_t most) {
  return "it is too large: more than " + std::to_string(most >> 20) + " MiB";
}

}  // namespace

std::uint64_t regular_file_size(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    fail_by(path, errno);
  }
  return size_of(path, found);
}

std::string read_regular_file(const std::string& path, std::uint64_t most) {
  regular_file_size(path);  // opening alone may wind a tape
  const OpenFile file(path);
  struct stat found {};
  if (::fstat(file.descriptor(), &found) != 0) {
    fail_by(path, errno);
  }
  const std::uint64_t size = size_of(path, found);
  if (size > most) {
    fail(path, too_large(most));
  }
  std::string text;
  text.reserve(size);
  std::vector<char> block(std::size_t{1} << 16);
  for (;;) {
    const ssize_t count = ::read(file.descriptor(), block.data(), block.size());
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count < 0) {
      fail_by(path, errno);
    }
    if (count == 0) {
      return text;
    }
    text.append(block.data(), static_cast<std::size_t>(count));
    if (text.size() > most) {
      fail(path, too_large(most));
    }
  }
}

}  // namespace tessera
