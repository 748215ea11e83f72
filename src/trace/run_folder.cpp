#include "tessera/trace/run_folder.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "posix_file.hpp"
#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

namespace fs = std::filesystem;

constexpr int most_ranks_in_one_folder = 1000;
constexpr const char* nested_folder = "traces";

bool all_digits(std::string_view text, std::size_t at_least) {
  return text.size() >= at_least &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The part of `name` between `head` and `tail`; "" when it has not both.
std::string_view middle(std::string_view name, std::string_view head, std::string_view tail) {
  if (name.size() < head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail)) {
    return "";
  }
  return name.substr(head.size(), name.size() - head.size() - tail.size());
}

bool is_trace_name(std::string_view name) {
  return all_digits(middle(name, "trace.", ".h5"), 5);
}

// Files a run makes in its folder, also half-written ones; a new run removes them.
bool is_run_file(std::string_view name) {
  const std::string_view suffix = aside_suffix;
  if (name.ends_with(suffix)) {
    name.remove_suffix(suffix.size());
  }
  constexpr std::array<std::string_view, 4> names{config_name, index_name, summary_name,
                                                  manifest_name};
  return is_trace_name(name) || std::find(names.begin(), names.end(), name) != names.end();
}

// Files that the tools which read a run put beside it; a new run leaves them.
bool is_tool_file(std::string_view name) {
  return name.ends_with(".png") || name.ends_with(".json.gz");
}

[[noreturn]] void refuse(const std::string& folder, const std::string& reason) {
  throw ConfigError("output folder '" + folder + "' " + reason +
                    "; give an empty folder, a new one, or one of an earlier run");
}

std::vector<fs::directory_entry> sorted_entries(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Looks through a folder of an earlier run before anything is removed.
class Survey {
 public:
  explicit Survey(const std::string& folder) : folder_(folder) {
    for (const fs::directory_entry& entry : sorted_entries(folder)) {
      top(entry);
    }
  }
  const std::vector<fs::path>& files() const { return files_; }
  const std::vector<fs::path>& folders() const { return folders_; }

 private:
  void top(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    if (is_folder(entry)) {
      if (name == nested_folder) {
        for (const fs::directory_entry& group : sorted_entries(entry.path())) {
          nested(group);
        }
        folders_.push_back(entry.path());
      } else if (name != "plots") {
        foreign(entry);
      }
    } else if (is_file(entry) && is_run_file(name)) {
      files_.push_back(entry.path());
    } else if (!is_file(entry) || !is_tool_file(name)) {
      foreign(entry);
    }
  }

  void nested(const fs::directory_entry& group) {
    if (!is_folder(group) || !all_digits(group.path().filename().string(), 3)) {
      foreign(group);
    }
    for (const fs::directory_entry& entry : sorted_entries(group.path())) {
      if (!is_file(entry) || !is_trace_name(entry.path().filename().string())) {
        foreign(entry);
      }
      files_.push_back(entry.path());
    }
    folders_.push_back(group.path());
  }

  // Links are followed nowhere: what they lead to is not ours.
  static bool is_folder(const fs::directory_entry& entry) {
    return entry.symlink_status().type() == fs::file_type::directory;
  }
  static bool is_file(const fs::directory_entry& entry) {
    return entry.symlink_status().type() == fs::file_type::regular;
  }

  [[noreturn]] void foreign(const fs::directory_entry& entry) const {
    const std::string name = entry.path().lexically_relative(folder_).string();
    refuse(folder_, "holds '" + name + "', which is not of a run");
  }

  std::string folder_;
  std::vector<fs::path> files_;
  std::vector<fs::path> folders_;  // inner ones first
};

}  // namespace

std::string trace_name(int rank, int ranks) {
  std::array<char, 64> text{};
  if (ranks <= most_ranks_in_one_folder) {
    std::snprintf(text.data(), text.size(), "trace.%05d.h5", rank);
  } else {
    std::snprintf(text.data(), text.size(), "%s/%03d/trace.%05d.h5", nested_folder,
                  rank / most_ranks_in_one_folder, rank);
  }
  return text.data();
}

void prepare_run_folder(const std::string& folder, int ranks) {
  try {
    if (fs::exists(folder) && !fs::is_directory(folder)) {
      refuse(folder, "is not a folder");
    }
    fs::create_directories(folder);
    const Survey survey(folder);
    for (const fs::path& file : survey.files()) {
      fs::remove(file);
    }
    for (const fs::path& inner : survey.folders()) {
      fs::remove(inner);
    }
    for (int rank = 0; rank < ranks; rank += most_ranks_in_one_folder) {
      fs::create_directories(fs::path(folder) / fs::path(trace_name(rank, ranks)).parent_path());
    }
  } catch (const fs::filesystem_error& error) {
    throw IoError(error.path1().string() + ": error: cannot prepare the output folder: " +
                  error.code().message() + " (errno " + std::to_string(error.code().value()) + ")");
  }
}

}  // namespace tessera::trace
