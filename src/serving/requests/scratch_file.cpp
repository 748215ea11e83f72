#include "requests/scratch_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::serving {
namespace {

// That of TMPDIR, or what outlives the machine's next start, as /tmp may be memory (FHS 3.0, 5.15).
std::filesystem::path folder_of_files() {
  std::error_code error;
  const bool is_named = std::getenv("TMPDIR") != nullptr;
  const std::filesystem::path lasting = "/var/tmp";
  return !is_named && std::filesystem::is_directory(lasting, error)
             ? lasting
             : std::filesystem::temp_directory_path(error);
}

// -1: there is no place for one.
int open_without_name() {
  const std::filesystem::path folder = folder_of_files();
  if (folder.empty()) {
    return -1;
  }
  std::string name = (folder / "tessera-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) {
    ::unlink(name.c_str());
  }
  return descriptor;
}

}  // namespace

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(std::exchange(other.size_, 0)) {}

ScratchFile& ScratchFile::operator=(ScratchFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

bool ScratchFile::append(std::span<const std::byte> bytes) {
  if (descriptor_ < 0) {
    descriptor_ = open_without_name();
  }
  std::uint64_t end = size_;
  while (descriptor_ >= 0 && !bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(end));
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return false;
    }
    end += static_cast<std::uint64_t>(written);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  size_ = bytes.empty() ? end : size_;
  return bytes.empty();
}

void ScratchFile::read(std::uint64_t begin, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t got = ::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(begin));
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      const std::string reason = got < 0 ? std::generic_category().message(errno) : "it is cut";
      throw IoError("a temporary file of requests: error: cannot be read: " + reason);
    }
    begin += static_cast<std::uint64_t>(got);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace tessera::serving
