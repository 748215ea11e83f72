#include "store/posix_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "store/json_sum.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::trace {
namespace {

void write_new(const std::string& path, const std::string& text) {
  Descriptor file(path, O_WRONLY | O_CREAT | O_TRUNC);
  file.write(text);
  file.close();
}

// Whether it ends, as far as one can know: folders are opened to force them to the disk.
bool has_an_end(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode));
}

// Of processes that write into a folder, one at a time; where it cannot be locked, all at once.
class Turn {
 public:
  explicit Turn(const std::string& folder)
      : descriptor_(
            ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~Turn() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int descriptor_;
};

[[noreturn]] void refuse_device(const std::string& path) {
  throw IoError(
      path + ": error: cannot read the file: it is no regular file but a device, pipe or socket");
}

}  // namespace

void throw_errno(const std::string& path, const std::string& doing) {
  const int code = errno;
  throw IoError(path + ": error: cannot " + doing + ": " + std::generic_category().message(code) +
                " (errno " + std::to_string(code) + ")");
}

// O_NONBLOCK: a pipe without a writer is not waited for.
Descriptor::Descriptor(const std::string& path, int flags)
    : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666)) {
  if (descriptor_ < 0) {
    throw_errno(path_, "open the file");
  }
  if ((flags & O_ACCMODE) == O_RDONLY && !has_an_end(descriptor_)) {
    ::close(descriptor_);
    refuse_device(path_);
  }
}

Descriptor::~Descriptor() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

template <class Call>
std::size_t Descriptor::read_by(Call call) const {
  for (;;) {
    const ssize_t count = call();
    if (count >= 0) {
      return static_cast<std::size_t>(count);
    }
    if (errno != EINTR) {
      throw_errno(path_, "read the file");
    }
  }
}

std::size_t Descriptor::read(std::vector<char>& buffer) const {
  return read_by([&] { return ::read(descriptor_, buffer.data(), buffer.size()); });
}

std::size_t Descriptor::read_at(std::uint64_t place, std::span<char> buffer) const {
  return read_by([&] {
    return ::pread(descriptor_, buffer.data(), buffer.size(), static_cast<off_t>(place));
  });
}

void Descriptor::write(const std::string& text) const {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(descriptor_, text.data() + done, text.size() - done);
    if (count >= 0) {
      done += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      throw_errno(path_, "write the file");
    }
  }
}

void Descriptor::write_at(std::uint64_t place, const std::string& text) const {
  if (::lseek(descriptor_, static_cast<off_t>(place), SEEK_SET) < 0) {
    throw_errno(path_, "find a place in the file");
  }
  write(text);
}

// Some file systems cannot sync a folder and say EINVAL; there is nothing better to do then.
void Descriptor::sync() const {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) {
    throw_errno(path_, "sync the file");
  }
}

void Descriptor::close() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0) {
    throw_errno(path_, "close the file");
  }
}

void sync_and_rename(const std::string& aside, const std::string& path) {
  Descriptor(aside, O_RDONLY).sync();
  if (std::rename(aside.c_str(), path.c_str()) != 0) {
    throw_errno(path, "rename the file");
  }
  const std::string parent = std::filesystem::path(path).parent_path().string();
  Descriptor(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY).sync();
}

void sync_path(const std::string& path) {
  Descriptor(path, O_RDONLY).sync();
}

void check_regular(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
}

std::string read_file(const std::string& path, std::uint64_t most) {
  const Descriptor file(path, O_RDONLY);
  std::vector<char> buffer(std::size_t{1} << 16);
  std::string text;
  for (std::size_t count = file.read(buffer); count > 0; count = file.read(buffer)) {
    text.append(buffer.data(), count);
    if (text.size() > most) {
      throw IoError(path + ": error: cannot read the file: it is too large: more than " +
                    std::to_string(most >> 20U) + " MiB");
    }
  }
  return text;
}

FileSum sum_file(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  std::vector<char> buffer(std::size_t{1} << 20);
  FileSum sum;
  for (std::size_t count = file.read(buffer); count > 0; count = file.read(buffer)) {
    sum.crc = crc32c(buffer.data(), count, sum.crc);
    sum.bytes += count;
  }
  return sum;
}

std::string fault_of_file(const std::string& path, const std::string& shown, std::uint64_t bytes,
                          const std::string& crc) {
  try {
    check_regular(path);
    const std::uint64_t found = std::filesystem::file_size(path);
    if (found != bytes) {
      return shown + ": has " + std::to_string(found) + " bytes instead of " +
             std::to_string(bytes);
    }
    return hexadecimal(sum_file(path).crc) == crc ? "" : shown + ": damaged (CRC-32C differs)";
  } catch (const IoError& unreadable) {
    return unreadable.what();
  } catch (const std::filesystem::filesystem_error& unreadable) {
    return unreadable.what();
  }
}

void write_file_atomically(const std::string& path, const std::string& text) {
  const std::string aside = path + aside_suffix;
  try {
    write_new(aside, text);
    sync_and_rename(aside, path);
  } catch (const IoError& error) {
    ::unlink(aside.c_str());
    const std::string told = error.what();
    throw IoError(told.starts_with(aside) ? path + told.substr(aside.size()) : told);
  }
}

bool overwrite_file(const std::string& path, const std::string& text) {
  try {
    const Descriptor file(path, O_WRONLY);
    const std::uint64_t before = std::filesystem::file_size(path);
    if (text.size() > before) {
      file.write_at(before, text.substr(before));
    }
    file.write_at(0, text.substr(0, before));
    std::filesystem::resize_file(path, text.size());
    file.sync();
    return true;
  } catch (const IoError&) {
    return false;
  } catch (const std::filesystem::filesystem_error&) {
    return false;
  }
}

bool write_or_overwrite(const std::string& path, const std::string& text) {
  const Turn turn(std::filesystem::path(path).parent_path().string());
  try {
    write_file_atomically(path, text);
    return true;
  } catch (const IoError&) {
    return overwrite_file(path, text);
  }
}

void check_writable(const std::string& path) {
  const std::string aside = path + aside_suffix;
  write_new(aside, "");
  if (::unlink(aside.c_str()) != 0) {
    throw_errno(aside, "remove the file");
  }
}

}  // namespace tessera::trace
