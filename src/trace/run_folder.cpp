#include "tessera/trace/run_folder.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <set>
#include <system_error>

#include "rank_folders.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/folder_lock.hpp"
#include "tessera/trace/store/segment.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {
namespace {

namespace fs = std::filesystem;

constexpr const char* nested_folder = "traces";
constexpr std::string_view report_name = "report.html";  // of `tessera report`

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

// "trace.00003.h5", "trace.s2.00003.h5"
bool is_trace_name(std::string_view name) {
  std::string_view numbers = middle(name, "trace.", ".h5");
  if (numbers.starts_with('s')) {
    const std::size_t dot = std::min(numbers.find('.'), numbers.size());
    if (!all_digits(numbers.substr(1, dot - 1), 1)) {
      return false;
    }
    numbers.remove_prefix(std::min(dot + 1, numbers.size()));
  }
  return all_digits(numbers, 5);
}

std::string_view without_aside(std::string_view name) {
  for (const std::string_view suffix : {aside_suffix, damaged_suffix}) {
    if (name.ends_with(suffix)) {
      return name.substr(0, name.size() - suffix.size());
    }
  }
  return name;
}

// Files a run makes in its folder, also half-written ones; a new run removes them.
bool is_run_file(std::string_view name) {
  name = without_aside(name);
  constexpr std::array<std::string_view, 6> names{config_name,      index_name,   segments_name,
                                                  node_events_name, summary_name, manifest_name};
  return is_trace_name(name) || std::find(names.begin(), names.end(), name) != names.end();
}

// Files that the tools which read a run put beside it; a new run leaves them.
bool is_tool_file(std::string_view name) {
  return name == report_name || name.ends_with(".png") || name.ends_with(".json.gz");
}

[[noreturn]] void refuse(const std::string& folder, const std::string& reason) {
  throw ConfigError({folder, 0, 0,
                     "the output folder " + reason +
                         "; give an empty folder, a new one, or one of an earlier run"});
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
  const std::vector<fs::path>& trees() const { return trees_; }

 private:
  void top(const fs::directory_entry& entry) {
    const std::string name = entry.path().filename().string();
    if (is_folder(entry)) {
      if (name == nested_folder) {
        for (const fs::directory_entry& group : sorted_entries(entry.path())) {
          nested(group);
        }
        folders_.push_back(entry.path());
      } else if (name == checkpoints_folder) {
        checkpoints(entry);
      } else if (name != "plots") {
        foreign(entry);
      }
    } else if (is_file(entry) && is_run_file(name)) {
      files_.push_back(entry.path());
    } else if (!is_file(entry) || (!is_tool_file(name) && !is_lock_file(name))) {
      foreign(entry);
    }
  }

  void nested(const fs::directory_entry& group) {
    if (!is_folder(group) || !all_digits(group.path().filename().string(), 3)) {
      foreign(group);
    }
    for (const fs::directory_entry& entry : sorted_entries(group.path())) {
      if (!is_file(entry) || !is_trace_name(without_aside(entry.path().filename().string()))) {
        foreign(entry);
      }
      files_.push_back(entry.path());
    }
    folders_.push_back(group.path());
  }

  // Folders with a number, whole or half written.
  void checkpoints(const fs::directory_entry& entry) {
    for (const fs::directory_entry& checkpoint : sorted_entries(entry.path())) {
      const std::string name = checkpoint.path().filename().string();
      if (!is_folder(checkpoint) || !all_digits(without_aside(name), 5)) {
        foreign(checkpoint);
      }
      trees_.push_back(checkpoint.path());
    }
    folders_.push_back(entry.path());
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
  std::vector<fs::path> trees_;    // checkpoints, with all they hold
};

}  // namespace

std::string trace_name(int rank, int ranks, std::uint32_t segment) {
  const std::string part = segment == 0 ? "" : "s" + std::to_string(segment) + ".";
  std::array<char, 64> text{};
  if (ranks <= most_ranks_in_one_folder) {
    std::snprintf(text.data(), text.size(), "trace.%s%05d.h5", part.c_str(), rank);
  } else {
    std::snprintf(text.data(), text.size(), "%s/%03d/trace.%s%05d.h5", nested_folder,
                  rank / most_ranks_in_one_folder, part.c_str(), rank);
  }
  return text.data();
}

namespace {

[[noreturn]] void throw_failure(const fs::filesystem_error& error) {
  throw IoError(error.path1().string() + ": error: cannot prepare the output folder: " +
                error.code().message() + " (errno " + std::to_string(error.code().value()) + ")");
}

void create_nested_folders(const fs::path& folder, int ranks) {
  for (int rank = 0; rank < ranks; rank += most_ranks_in_one_folder) {
    fs::create_directories(folder / fs::path(trace_name(rank, ranks)).parent_path());
  }
}

// Removes what is half written, and traces that are not to be kept. Leaves all else alone.
void remove_leftovers(const fs::path& folder, const std::set<fs::path>& keep) {
  for (const fs::directory_entry& entry : sorted_entries(folder)) {
    const std::string name = entry.path().filename().string();
    const bool trace = is_trace_name(name) && !keep.contains(entry.path());
    const bool aside = name.ends_with(aside_suffix) && is_run_file(name);
    if (entry.is_regular_file() && (trace || aside)) {
      fs::remove(entry.path());
    }
  }
}

}  // namespace

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
    for (const fs::path& tree : survey.trees()) {
      fs::remove_all(tree);
    }
    for (const fs::path& inner : survey.folders()) {
      fs::remove(inner);
    }
    create_nested_folders(folder, ranks);
  } catch (const fs::filesystem_error& error) {
    throw_failure(error);
  }
}

void prepare_to_go_on(const std::string& folder, const std::vector<Segment>& segments) {
  ensure(!segments.empty(), "a run goes on in a segment");
  try {
    for (const char* name : {manifest_name, index_name}) {
      fs::remove(fs::path(folder) / name);
    }
    std::set<fs::path> keep;
    for (const TracePart& part : trace_parts({segments.begin(), std::prev(segments.end())})) {
      keep.insert(fs::path(folder) / part.name);
    }
    remove_leftovers(folder, keep);
    if (const fs::path nested = fs::path(folder) / nested_folder; fs::is_directory(nested)) {
      for (const fs::directory_entry& group : sorted_entries(nested)) {
        remove_leftovers(group.path(), keep);
      }
    }
    create_nested_folders(folder, segments.back().cost.ranks);
  } catch (const fs::filesystem_error& error) {
    throw_failure(error);
  }
  write_segments(folder, segments);
}

namespace {

bool is_of_index(const std::string& fault) {
  return fault.starts_with(manifest_name) || fault.starts_with(index_name);
}

// What is wrong with traces that no manifest knows.
std::vector<std::string> faults_of_traces(const std::string& folder,
                                          const std::vector<Segment>& segments) {
  std::vector<std::string> faults;
  for (const TracePart& part : trace_parts(segments)) {
    try {
      const TraceReader reader(folder + "/" + part.name);
      if (!reader.damage().empty() || !reader.closed()) {
        faults.push_back(part.name + ": damaged (" +
                         (reader.closed() ? reader.damage() : "was not closed by its writer") +
                         ")");
      }
    } catch (const IoError& unreadable) {
      faults.emplace_back(unreadable.what());
    }
  }
  return faults;
}

}  // namespace

std::vector<std::string> settle_run_folder(const std::string& folder, int ranks) {
  std::vector<std::string> faults = verify_run_folder(folder);
  if (faults.empty() || !std::all_of(faults.begin(), faults.end(), is_of_index)) {
    return faults;
  }
  if (ranks == 0) {
    write_manifest(folder, ranks);
    return {};
  }
  std::vector<Segment> segments = read_segments(folder);
  if (segments.empty()) {
    segments.emplace_back().cost.ranks = ranks;
  }
  const std::vector<std::string> lost = faults_of_traces(folder, segments);
  if (!lost.empty()) {
    faults.insert(faults.end(), lost.begin(), lost.end());
    return faults;
  }
  write_index(folder, segments);
  write_manifest(folder, segments);
  return {};
}

}  // namespace tessera::trace
