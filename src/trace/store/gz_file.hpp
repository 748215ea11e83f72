// A gzip file that is there whole or not at all.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera::trace {

// Writes gzip text aside and gives it its name when finished; without that, nothing stays. The
// bytes depend on the text alone: no time stamp, no name.
class GzFile {
 public:
  // Throws IoError when the file cannot be created.
  explicit GzFile(std::string path);
  ~GzFile();
  GzFile(const GzFile&) = delete;
  GzFile& operator=(const GzFile&) = delete;

  // Throws IoError, as `finish`.
  void write(std::string_view text);
  // Closes, forces to the disk and renames.
  void finish();

 private:
  void put_buffer();

  std::string path_;
  std::string aside_;
  std::string buffer_;
  gzFile file_ = nullptr;
  bool finished_ = false;
};

// The first `most` bytes of the text of which `beginning` is the beginning as a gzip file; less
// where that does not say so many, or is of no gzip file.
std::string begin_of_gzip(std::string_view beginning, std::size_t most);

}  // namespace tessera::trace
