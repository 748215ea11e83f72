// A file for what does not stay in memory: without a name, so that nothing is left behind whatever
// becomes of the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera::serving {

class ScratchFile {
 public:
  ScratchFile() = default;
  ~ScratchFile();
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&& other) noexcept;
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  // Behind what was appended before; the file is made with the first, in the folder TMPDIR,
  // or else in /var/tmp. False: it cannot be made or takes no more, and holds what it held.
  bool append(std::span<const std::byte> bytes);
  // What was appended. Throws IoError.
  void read(std::uint64_t begin, std::span<std::byte> bytes) const;

 private:
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace tessera::serving
