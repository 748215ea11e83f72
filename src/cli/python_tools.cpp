#include "python_tools.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tessera/core/error.hpp"

namespace tessera::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* package = "tessera_plots";

fs::path program_path() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/exe", unknown);
}

const fs::path tools = fs::path(package) / "html";

bool has_tools(const fs::path& folder) {
  std::error_code unknown;
  return fs::is_directory(folder / tools, unknown);
}

// Where the user says, where it was installed, and where it was built: neither is a path in the
// program, which can be moved.
fs::path scripts_folder() {
  if (const char* const asked = std::getenv("TESSERA_SCRIPTS")) {
    if (has_tools(asked)) {
      return fs::absolute(asked);
    }
    throw ConfigError("TESSERA_SCRIPTS: there is no folder " + (asked / tools).string());
  }
  const fs::path scripts = fs::path("share") / "tessera" / "scripts";
  const fs::path home = program_path().parent_path();
  const fs::path installed = home.parent_path() / scripts;
  const fs::path built = home / scripts;
  for (const fs::path& folder : {installed, built}) {
    if (has_tools(folder)) {
      return folder;
    }
  }
  throw ConfigError(
      "the program's tools in Python are neither in " + installed.string() + " nor in " +
      built.string() +
      "; have TESSERA_SCRIPTS name the folder that they are in (scripts of the source "
      "tree, share/tessera/scripts of an installation), or install the program whole");
}

// What a child prints goes nowhere.
class SilentFiles {
 public:
  SilentFiles() {
    posix_spawn_file_actions_init(&actions_);
    for (const int file : {STDOUT_FILENO, STDERR_FILENO}) {
      posix_spawn_file_actions_addopen(&actions_, file, "/dev/null", O_WRONLY, 0);
    }
  }
  ~SilentFiles() { posix_spawn_file_actions_destroy(&actions_); }
  SilentFiles(const SilentFiles&) = delete;
  SilentFiles& operator=(const SilentFiles&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

// The exit code of a command, 128 and the signal that ended it, or -1 when it cannot be started.
int call(Words words, const posix_spawn_file_actions_t* files) {
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, pointers.front(), files, nullptr, pointers.data(), environ) != 0) {
    return -1;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string interpreter() {
  const char* asked = std::getenv("TESSERA_PYTHON");
  const Words known = asked != nullptr ? Words{asked} : Words{"python3", "/usr/bin/python3"};
  const SilentFiles silent;
  for (const std::string& python : known) {
    if (call({python, "-c", "import h5py, numpy"}, silent.get()) == 0) {
      return python;
    }
  }
  throw ConfigError(
      asked != nullptr
          ? "TESSERA_PYTHON: '" + known.front() + "' is no Python with h5py and numpy"
          : "no Python with h5py and numpy; install them: apt-get install python3-h5py");
}

void set_environment(const fs::path& folder) {
  const char* before = std::getenv("PYTHONPATH");
  const std::string path = folder.string() + (before != nullptr ? ":" + std::string(before) : "");
  setenv("PYTHONPATH", path.c_str(), 1);
  setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
  setenv("TESSERA_PROGRAM", program_path().c_str(), 1);
}

int run_here(const std::string& module, const Words& words) {
  const fs::path folder = scripts_folder();
  Words all{interpreter(), "-m", std::string(package) + "." + module};
  set_environment(folder);
  all.insert(all.end(), words.begin(), words.end());
  const int code = call(all, nullptr);
  // HDF5 can crash or hang (signal 14 ends it) on a damaged file that no manifest vouches for.
  for (const int signal : {SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGALRM}) {
    if (code == 128 + signal) {
      throw IoError("a trace of this run is damaged: HDF5 could not read it");
    }
  }
  return code;
}

}  // namespace

bool begins_as_report(std::string_view text) {
  constexpr std::string_view mark = "<meta name=\"generator\" content=\"";
  const std::size_t place = text.find(mark);
  return text.starts_with("<!doctype html>") && place != std::string_view::npos &&
         text.find("essera", place) == place + mark.size() + 1;  // Tessera, or tessera 0.2.0
}

int run_python(const std::string& module, const Words& words, comm::Communicator& world) {
  // All ranks end alike: what rank 0 has to say goes to the others.
  std::string said;
  if (world.rank() == 0) {
    try {
      said = std::to_string(run_here(module, words));
    } catch (const ConfigError& error) {
      said = "-" + error.diagnostics().front().message;
    }
  }
  said = world.broadcast(said, 0);
  if (said.front() == '-') {
    throw ConfigError(said.substr(1));
  }
  return std::stoi(said);
}

}  // namespace tessera::cli
