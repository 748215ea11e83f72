#include "output_file.hpp"

#include <array>
#include <filesystem>
#include <fstream>

#include "tessera/comm/first_rank.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

// As much as tells one kind of file from another. What is no plain file is not touched.
std::string beginning_of(const std::string& path) {
  std::array<char, 512> block{};
  if (!fs::is_regular_file(path)) {
    return "";
  }
  std::ifstream file(path, std::ios::binary);
  file.read(block.data(), block.size());
  return {block.data(), static_cast<std::size_t>(file.gcount())};
}

}  // namespace

void check_output(const std::string& path, bool (*is_ours)(std::string_view beginning),
                  const std::string& command, comm::Communicator& world,
                  const std::optional<OtherOutput>& other) {
  comm::on_first_rank(world, [&] {
    if (path.empty()) {
      throw ConfigError("--output: names no file");
    }
    std::error_code unknown;  // writing will tell
    const std::string beginning = fs::exists(path, unknown) ? beginning_of(path) : "";
    if (fs::exists(path, unknown) && !is_ours(beginning)) {
      const bool is_other = other && other->is_it(beginning);
      throw ConfigError({path, 0, 0,
                         "is there, and " +
                             (is_other ? "is " + other->what + " that tessera " + command + " wrote"
                                       : "tessera " + command + " did not write it") +
                             "; name another file with -o, or remove it"});
    }
    trace::check_writable(path);
  });
}

void make_folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed && !folder.empty()) {
    throw IoError(folder.string() + ": error: cannot make the folder: " + failed.message());
  }
}

}  // namespace tessera::cli
