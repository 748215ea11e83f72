#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <system_error>

#include "table/rows.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/version.hpp"
#include "tessera/explore/table/table.hpp"
#include "tessera/trace/folder_lock.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/store/aside.hpp"
#include "tessera/trace/store/signed_json.hpp"

namespace tessera::explore {
namespace {

namespace fs = std::filesystem;

constexpr const char* sweep_state_name = "sweep.json";
constexpr const char* state_file_type = "tessera-sweep-state";
constexpr const char* resolved_name = "sweep.resolved.yaml";
constexpr const char* csv_name = "sweep.csv";
constexpr const char* file_name = "sweep.h5";
constexpr const char* points_folder = "points";
constexpr const char* log_suffix = ".jsonl";

bool is_own_file(std::string name) {
  if (name.ends_with(trace::aside_suffix)) {
    name.resize(name.size() - std::string_view(trace::aside_suffix).size());
  }
  constexpr std::array<std::string_view, 4> names{sweep_state_name, resolved_name, csv_name,
                                                  file_name};
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void refuse(const std::string& folder, const std::string& reason) {
  throw ConfigError({folder, 0, 0,
                     "the output folder " + reason +
                         "; give an empty folder, a new one, or one of an earlier sweep"});
}

// What an earlier sweep left, and nothing else.
std::vector<fs::path> own_files(const std::string& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool plain = entry.symlink_status().type() == fs::file_type::regular;
    if (name == points_folder && entry.is_directory()) {
      for (const fs::directory_entry& log : fs::directory_iterator(entry.path())) {
        if (log.path().extension() != log_suffix) {
          refuse(folder, "holds '" + name + "/" + log.path().filename().string() +
                             "', which is not of a sweep");
        }
        files.push_back(log.path());
      }
    } else if (plain && is_own_file(name)) {
      files.push_back(entry.path());
    } else if (name != "plots" && !(plain && (name == "report.html" || name.ends_with(".png") ||
                                              trace::is_lock_file(name)))) {
      refuse(folder, "holds '" + name + "', which is not of a sweep");
    }
  }
  return files;
}

[[noreturn]] void throw_failure(const fs::filesystem_error& error) {
  throw IoError(error.path1().string() + ": error: cannot use the output folder: " +
                error.code().message() + " (errno " + std::to_string(error.code().value()) + ")");
}

}  // namespace

void prepare_sweep_folder(const std::string& folder, const SweepState& state,
                          const std::string& resolved) {
  try {
    if (fs::exists(folder) && !fs::is_directory(folder)) {
      refuse(folder, "is not a folder");
    }
    fs::create_directories(folder);
    for (const fs::path& file : own_files(folder)) {
      fs::remove(file);
    }
    fs::create_directories(fs::path(folder) / points_folder);
  } catch (const fs::filesystem_error& error) {
    throw_failure(error);
  }
  trace::write_file_atomically(folder + "/" + resolved_name, resolved);
  trace::write_signed(folder + "/" + sweep_state_name, state_file_type,
                      {{"sweep", state.sweep},
                       {"set", state.overrides},
                       {"hash", state.hash},
                       {"points", state.points},
                       {"columns", state.columns}});
}

SweepState read_sweep_state(const std::string& folder) {
  const std::string path = folder + "/" + sweep_state_name;
  if (!fs::exists(path)) {
    throw ConfigError(
        {folder, 0, 0, std::string("is no sweep to go on with: there is no ") + sweep_state_name});
  }
  const trace::Json json = trace::read_signed(path, state_file_type);
  SweepState state;
  try {
    json.at("sweep").get_to(state.sweep);
    json.at("set").get_to(state.overrides);
    json.at("hash").get_to(state.hash);
    json.at("points").get_to(state.points);
    if (json.contains("columns")) {
      json.at("columns").get_to(state.columns);
    }
  } catch (const trace::JsonError& error) {
    throw IoError(path + ": error: does not say what a sweep is: " + error.what());
  }
  return state;
}

std::string sweep_log_path(const std::string& folder, int rank) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "%05d", rank);
  return folder + "/" + points_folder + "/" + name.data() + log_suffix;
}

bool holds_sweep(const std::string& folder) {
  std::error_code unknown;
  return fs::is_regular_file(fs::path(folder) / sweep_state_name, unknown);
}

std::vector<SweepRow> read_sweep_logs(const std::string& folder) {
  std::map<std::uint64_t, SweepRow> rows;
  try {
    for (const fs::directory_entry& log : fs::directory_iterator(folder + "/" + points_folder)) {
      for (const trace::Json& line : trace::read_signed_log(log.path().string())) {
        SweepRow row = row_from(line);
        rows.emplace(row.point, std::move(row));
      }
    }
  } catch (const fs::filesystem_error& error) {
    throw_failure(error);
  }
  std::vector<SweepRow> result;
  for (auto& [point, row] : rows) {
    result.push_back(std::move(row));
  }
  return result;
}

void write_sweep_results(const std::string& folder, const SweepTable& table) {
  trace::write_file_atomically(folder + "/" + csv_name, to_csv(table));
  write_sweep_file(folder + "/" + file_name, table, "tessera " + std::string(version()));
}

}  // namespace tessera::explore
