// JSON that holds a CRC-32C of itself, so that damage is noticed: whole files, and logs of lines.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/trace/store/json.hpp"

namespace tessera::trace {

// Puts `file_type` and the format version before the members and `crc32c` behind them, and writes
// the file aside and renames it. Throws IoError.
void write_signed(const std::string& path, const std::string& file_type, const Json& members);

// Reads such a file. Throws IoError when it cannot be read or is damaged or another file; and
// ConfigError when its format has another major version.
Json read_signed(const std::string& path, const std::string& file_type);

// The members and their `crc32c` on one line, with its end.
std::string signed_line(Json members);

// The whole, undamaged lines of a text; a killed writer leaves at most one broken line.
std::vector<Json> read_signed_lines(std::string_view text);
// The same of a file. Throws IoError.
std::vector<Json> read_signed_log(const std::string& path);

// Lines as they come.
class SignedLog {
 public:
  // Appends to `path`, or creates it. Throws IoError.
  explicit SignedLog(const std::string& path);
  ~SignedLog();
  SignedLog(const SignedLog&) = delete;
  SignedLog& operator=(const SignedLog&) = delete;

  // Hands the line to the system, which a kill of this process does not undo; forces it to the disk
  // about once a second. Throws IoError.
  void append(Json members);
  // Forces all lines to the disk. Throws IoError.
  void sync();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tessera::trace
