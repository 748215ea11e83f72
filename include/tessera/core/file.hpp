// Files that others name.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/core/error.hpp"

namespace tessera {

// A file that cannot be read; its text is "cannot read PATH: REASON".
class FileError : public IoError {
 public:
  FileError(const std::string& path, const std::string& reason)
      : IoError("cannot read " + path + ": " + reason), reason_(reason) {}
  const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

// Size [B] of the regular file at `path`, which may be a link to one. Opens nothing, so that a pipe
// without a writer holds up nobody. Throws FileError where there is no file,
// or it is a folder, a device, a pipe or a socket: these have no end that one could know, or none.
std::uint64_t regular_file_size(const std::string& path);

// All of it, at most `most` bytes, also of one that grows meanwhile. Throws FileError, also when it
// is larger.
std::string read_regular_file(const std::string& path, std::uint64_t most);

}  // namespace tessera
