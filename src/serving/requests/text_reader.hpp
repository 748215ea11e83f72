// Text of a file, a part at a time, with the place that has been come to: files of requests have
// millions of lines and are never held whole.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "tessera/core/error.hpp"

namespace tessera::serving {

class TextReader {
 public:
  static constexpr int end = -1;

  // Throws ConfigError where the file cannot be read.
  explicit TextReader(const std::string& path);

  // The next byte, without and with going on; `end` behind the last one. A mark of byte order at
  // the beginning is left out.
  int peek();
  int next();
  // The next line, without its end; false: there is none. Throws ConfigError for one of more than a
  // MiB, and for bytes that are no text.
  bool next_line(std::string& line);
  // The same of up to 16 MiB, with spaces for bytes that are no text (a terminal's colours).
  bool next_log_line(std::string& line);

  // Of the next byte, from 1 on.
  int line() const { return line_; }
  int column() const { return column_; }
  ConfigError error(const std::string& message) const { return error_at(line_, column_, message); }
  ConfigError error_at(int line, int column, const std::string& message) const;
  const std::string& path() const { return path_; }

 private:
  bool fill();
  // `refuses`: bytes that are no text, else spaces stand for them.
  bool read_line(std::string& line, std::size_t mebibytes, bool refuses);

  std::string path_;
  std::ifstream file_;
  std::vector<char> buffer_;
  std::size_t at_ = 0;
  std::size_t filled_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace tessera::serving
