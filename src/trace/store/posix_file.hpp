// Files below the C++ library: errors with the system's reason, and what survives a power cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tessera/trace/store/aside.hpp"
#include "tessera/trace/store/file_sum.hpp"

namespace tessera::trace {

// Names of the files of a run that are one each.
inline constexpr const char* config_name = "config.resolved.yaml";
inline constexpr const char* index_name = "index.h5";
inline constexpr const char* segments_name = "segments.json";
inline constexpr const char* summary_name = "summary.json";
inline constexpr const char* checkpoints_folder = "checkpoints";
inline constexpr const char* manifest_name = "manifest.json";

// An open file, or folder. Every call throws IoError with the system's reason; what is opened to be
// read is a regular file (or a folder), and no device, pipe or socket, which may have no end.
class Descriptor {
 public:
  // `flags` of open(2).
  Descriptor(const std::string& path, int flags);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  // Bytes read into `buffer`, at most its size; 0 at the end of the file.
  std::size_t read(std::vector<char>& buffer) const;
  // The same from a place in the file; its own position stays.
  std::size_t read_at(std::uint64_t place, std::span<char> buffer) const;
  // All of the text.
  void write(const std::string& text) const;
  // The same from a place in the file on.
  void write_at(std::uint64_t place, const std::string& text) const;
  // Forces what was written to the disk.
  void sync() const;
  void close();

 private:
  template <class Call>
  std::size_t read_by(Call call) const;

  std::string path_;
  int descriptor_;
};

// Throws IoError "PATH: error: cannot DOING: REASON (errno N)" for the present errno.
[[noreturn]] void throw_errno(const std::string& path, const std::string& doing);

// Forces `aside` to the disk, gives it the name `path`, and forces the folder to the disk: after a
// power cut `path` is the old file or the new one. Throws IoError.
void sync_and_rename(const std::string& aside, const std::string& path);

// Forces a file or folder to the disk. Throws IoError.
void sync_path(const std::string& path);

// Throws IoError where there is no regular file (or a folder) that can be read.
void check_regular(const std::string& path);

// All of a small file, of `most` bytes at most. Throws IoError, also when it is larger.
inline constexpr std::uint64_t most_bytes_of_text = std::uint64_t{1} << 28U;
std::string read_file(const std::string& path, std::uint64_t most = most_bytes_of_text);

// Of a file, read in pieces. Throws IoError.
FileSum sum_file(const std::string& path);

// What is other than it should be of a file that messages call `shown`: its size first, which is
// known without reading it, then its CRC-32C in hexadecimal digits. "" when nothing is.
std::string fault_of_file(const std::string& path, const std::string& shown, std::uint64_t bytes,
                          const std::string& crc);

}  // namespace tessera::trace
