// The rows of `/commit`: how many rows of each table are good.
//
// Stored unfiltered in small chunks that are overwritten in place, so a row may be torn when the
// writer dies; each row therefore carries a CRC of itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/hdf5_support.hpp"
#include "tessera/core/time.hpp"

namespace tessera::trace {

inline constexpr const char* commit_name = "commit";

// One commit, of all tables.
struct Commit {
  SimTime time;                     // simulated time of the call
  std::uint64_t wall_ms = 0;        // wall time since the file was created [ms]
  std::vector<std::uint64_t> rows;  // good rows of each table
  std::uint32_t crc = 0;            // CRC-32C of the rows new since the last commit, all tables
};

// How a commit lies in the file, for a given number of tables.
class CommitLayout {
 public:
  explicit CommitLayout(std::size_t tables) : tables_(tables) {}

  std::size_t row_bytes() const { return 24 + 8 * tables_; }
  hsize_t chunk_rows() const;
  hdf5::Type type(const std::string& path) const;
  // Units, descriptions and the names of the tables in the order of `rows`. Throws IoError.
  static void write_attributes(hid_t dataset, const std::vector<std::string>& tables,
                               const std::string& path);
  std::vector<std::byte> encode(const Commit& commit) const;
  // None when the row is torn or was never written.
  std::optional<Commit> decode(const std::byte* row) const;

 private:
  std::size_t tables_;
};

}  // namespace tessera::trace
