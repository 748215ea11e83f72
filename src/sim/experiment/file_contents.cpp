#include "tessera/sim/file_contents.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>
#include <vector>

#include "tessera/core/digest.hpp"

namespace tessera::sim {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

void add_files(const fs::path& folder, const std::string& begin, std::set<fs::path>& files) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(begin) && is_file(entry->path())) {
      files.insert(entry->path());
    }
  }
}

// At most so many pieces of a file are read.
constexpr std::size_t piece_bytes = std::size_t{1} << 16U;
constexpr std::uint64_t most_pieces = 16384;

std::string digest_of(const fs::path& path) {
  std::error_code unknown;
  const std::uintmax_t size = fs::file_size(path, unknown);
  const std::uint64_t bytes = unknown ? 0 : size;
  const std::uint64_t pieces = (bytes + piece_bytes - 1) / piece_bytes;
  const std::uint64_t step = std::max<std::uint64_t>(1, (pieces + most_pieces - 1) / most_pieces);
  std::ifstream file(path, std::ios::binary);
  Digest digest;
  std::vector<char> piece(piece_bytes);
  for (std::uint64_t number = 0; number < pieces && file; number += step) {
    const std::uint64_t begin = number * piece_bytes;
    if (step > 1) {
      file.seekg(static_cast<std::streamoff>(begin));
    }
    file.read(piece.data(), piece_bytes);
    const auto count = static_cast<std::size_t>(file.gcount());
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, piece.data() + at, std::min(sizeof word, count - at));
      digest.add({begin + at, word});
    }
  }
  return digest.to_string() + " " + std::to_string(bytes);
}

}  // namespace

std::vector<std::string> digests_of_files(const std::vector<std::string>& names) {
  std::set<fs::path> files;
  for (const std::string& text : names) {
    const fs::path name(text);
    std::error_code ignored;
    if (is_file(name)) {
      files.insert(name);
    } else if (fs::is_directory(name, ignored)) {
      add_files(name, "", files);
    } else {
      add_files(name.parent_path(), name.filename().string() + ".", files);
    }
  }
  std::vector<std::string> digests;
  for (const fs::path& file : files) {
    digests.push_back(digest_of(file));
  }
  return digests;
}

std::string digest_of_files(const std::vector<std::string>& names) {
  const std::vector<std::string> digests = digests_of_files(names);
  Digest all;
  for (const std::string& digest : digests) {
    Digest one;
    for (std::uint64_t place = 0; place < digest.size(); ++place) {
      one.add({place, static_cast<unsigned char>(digest[place])});
    }
    all.add({one.high(), one.low()});
  }
  return digests.empty() ? "" : all.to_string();
}

}  // namespace tessera::sim
