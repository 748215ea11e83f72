#include "readers.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "tessera/core/error.hpp"

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

// What a reader may say of bad bytes is no finding.
Reader refusing(void (*reader)(std::string_view)) {
  return [reader](std::string_view bytes) {
    try {
      reader(bytes);
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
                                                 {"collective", refusing(read_collective)},
                                                 {"chakra", refusing(read_chakra)},
                                                 {"onnx", refusing(read_onnx)},
                                                 {"requests", refusing(read_requests)},
                                                 {"stored", refusing(read_stored)},
                                                 {"traces", refusing(read_traces)},
                                                 {"import", refusing(read_import)}};
  return all;
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

void broken(const std::string& what) {
  throw std::logic_error("promise broken: " + what);
}

}  // namespace tessera::fuzz
