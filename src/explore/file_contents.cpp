#include "file_contents.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "tessera/core/digest.hpp"

namespace tessera::explore {
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

std::string digest_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  Digest digest;
  std::uint64_t place = 0;
  std::array<char, std::size_t{1} << 16> part{};
  while (file) {
    file.read(part.data(), part.size());
    const auto count = static_cast<std::size_t>(file.gcount());
    for (std::size_t at = 0; at < count; at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, part.data() + at, std::min(sizeof word, count - at));
      digest.add({place, word});
      place += std::min(sizeof word, count - at);
    }
  }
  return digest.to_string() + " " + std::to_string(place);
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

}  // namespace tessera::explore
