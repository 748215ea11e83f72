// Gives every file of some folders to a reader: the corpus of a fuzzer, without one.
//
//     fuzz_replay READER FOLDER...
//     fuzz_replay --traces FOLDER    writes what the fuzzer of traces begins with
//     fuzz_replay --version
//
// Ends with 1 and the file's name where a reader throws what is none of bad input, and with 1 where
// it refuses every file: then the fuzzer does not get past the reader's door.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string_view>
#include <vector>

#include "readers.hpp"
#include "tessera/core/version.hpp"

namespace {

std::vector<std::filesystem::path> files_of(int count, char** folders) {
  std::vector<std::filesystem::path> files;
  for (int i = 0; i < count; ++i) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folders[i])) {
      if (entry.is_regular_file()) {
        files.push_back(entry.path());
      }
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--version") {
    std::cout << "tessera " << tessera::version() << " (" << tessera::git_hash() << ")\n";
    return 0;
  }
  if (argc == 3 && std::string_view(argv[1]) == "--traces") {
    tessera::fuzz::write_traces(argv[2]);
    return 0;
  }
  const auto& readers = tessera::fuzz::readers();
  if (argc < 3 || !readers.contains(argv[1])) {
    std::cerr << "usage: fuzz_replay READER FOLDER...\n";
    return 2;
  }
  std::filesystem::path current;
  try {
    const auto files = files_of(argc - 2, argv + 2);
    double longest = 0;
    for (const auto& file : files) {
      current = file;
      std::ifstream stream(file, std::ios::binary);
      std::ostringstream bytes;
      bytes << stream.rdbuf();
      const auto began = std::chrono::steady_clock::now();
      readers.at(argv[1])(bytes.str());
      longest = std::max(
          longest, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
    }
    const unsigned long refused = tessera::fuzz::refused_inputs();
    std::cout << argv[1] << ": " << files.size() << " files, " << refused
              << " of them refused, longest " << longest << " s\n";
    return refused < files.size() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cerr << current.string() << ": " << error.what() << "\n";
    return 1;
  }
}
