#include "readers.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tessera/core/error.hpp"
#include "tessera/core/file.hpp"

namespace tessera::fuzz {
namespace {

// Removes the folder when the process ends in order.
class Scratch {
 public:
  Scratch() {
    const std::filesystem::path memory = "/dev/shm";
    path_ =
        (std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path()) /
        ("tessera-fuzz-" + std::to_string(getpid()));
    std::filesystem::create_directories(path_);
    text_ = path_.string();
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::filesystem::path path_;
  std::string text_;
};

unsigned long refused_so_far = 0;

// What a reader may say of bad bytes is no finding.
Reader refusing(void (*reader)(std::string_view)) {
  return [reader](std::string_view bytes) {
    ++refused_so_far;
    try {
      reader(bytes);
      --refused_so_far;
    } catch (const ConfigError&) {
    } catch (const IoError&) {
    } catch (const ModelError&) {
    }
  };
}

}  // namespace

const std::map<std::string, Reader>& readers() {
  static const std::map<std::string, Reader> all{{"yaml", refusing(read_yaml)},
                                                 {"experiment", refusing(read_experiment)},
                                                 {"machines", refusing(read_machines)},
                                                 {"tables", refusing(read_tables)},
                                                 {"collective", refusing(read_collective)},
                                                 {"chakra", refusing(read_chakra)},
                                                 {"onnx", refusing(read_onnx)},
                                                 {"requests", refusing(read_requests)},
                                                 {"stored", refusing(read_stored)},
                                                 {"traces", refusing(read_traces)},
                                                 {"import", refusing(read_import)}};
  return all;
}

unsigned long refused_inputs() {
  return refused_so_far;
}

const std::string& scratch_folder() {
  static const Scratch scratch;
  return scratch.text();
}

std::string file_with(std::string_view name, std::string_view bytes) {
  const std::filesystem::path path = std::filesystem::path(scratch_folder()) / name;
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path.string();
}

unsigned take_choice(std::string_view& bytes) {
  if (bytes.empty()) {
    return 0;
  }
  const auto choice = static_cast<unsigned char>(bytes.back());
  bytes.remove_suffix(1);
  return choice;
}

std::string path_of_experiment(std::string_view name) {
  static const std::filesystem::path folder =
      std::filesystem::path(TESSERA_SOURCE) / "configs/experiments";
  return (folder / name).lexically_normal().string();
}

std::string load_from_tree(const std::string& path) {
  static std::map<std::string, std::string> read_before;
  const std::string inside = std::filesystem::path(path).lexically_normal().string();
  const auto found = read_before.find(inside);
  if (found != read_before.end()) {
    return found->second;
  }
  if (!inside.starts_with(TESSERA_SOURCE "/")) {
    throw FileError(path, "outside of the tree");
  }
  return read_before.emplace(inside, read_regular_file(inside, 4U << 20)).first->second;
}

Bundle split(std::string_view bytes) {
  constexpr std::string_view mark = "%% ";
  Bundle bundle;
  for (bool is_first = true; !bytes.empty(); is_first = false) {
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end);
    const std::string_view whole = bytes.substr(0, end == line.npos ? end : end + 1);
    bytes.remove_prefix(whole.size());
    if (is_first) {
      bundle.kind = line;
    } else if (line.starts_with(mark)) {
      bundle.parts.push_back({std::string(line.substr(mark.size())), {}});
    } else if (!bundle.parts.empty()) {
      bundle.parts.back().text += whole;
    }
  }
  return bundle;
}

void broken(const std::string& what) {
  throw std::logic_error("promise broken: " + what);
}

}  // namespace tessera::fuzz
