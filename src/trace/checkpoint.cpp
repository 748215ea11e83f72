#include "tessera/trace/checkpoint.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "rank_folders.hpp"
#include "store/json_sum.hpp"
#include "store/posix_file.hpp"
#include "store/segment_json.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/store/signed_json.hpp"

namespace tessera::trace {
namespace {

namespace fs = std::filesystem;

constexpr const char* checkpoint_file_type = "tessera-checkpoint";
constexpr const char* checkpoint_name = "checkpoint.json";
constexpr std::size_t kept = 2;

std::string aside_of(const std::string& folder, std::uint32_t number) {
  return checkpoint_path(folder, number) + aside_suffix;
}

[[noreturn]] void throw_no_room(const fs::filesystem_error& error) {
  throw IoError(error.path1().string() + ": error: cannot make room for a checkpoint: " +
                error.code().message() + " (errno " + std::to_string(error.code().value()) + ")");
}

std::uint32_t crc_from(const std::string& digits) {
  std::uint32_t crc = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), crc, 16);
  return error == std::errc() && end == digits.data() + digits.size() ? crc : 0;
}

}  // namespace

std::vector<std::uint32_t> list_checkpoints(const std::string& folder) {
  std::vector<std::uint32_t> numbers;
  std::error_code error;
  for (fs::directory_iterator entry(folder + "/" + checkpoints_folder, error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::uint32_t number = 0;
    const auto [last, fault] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (fault == std::errc() && last == name.data() + name.size()) {
      numbers.push_back(number);
    }
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

std::string checkpoint_path(const std::string& folder, std::uint32_t number) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%05u", number);
  return folder + "/" + checkpoints_folder + "/" + text.data();
}

std::string checkpoint_file_name(int rank, int ranks) {
  std::array<char, 64> text{};
  if (ranks <= most_ranks_in_one_folder) {
    std::snprintf(text.data(), text.size(), "rank.%05d.h5", rank);
  } else {
    std::snprintf(text.data(), text.size(), "%03d/rank.%05d.h5", rank / most_ranks_in_one_folder,
                  rank);
  }
  return text.data();
}

std::string begin_checkpoint(const std::string& folder, std::uint32_t number, int ranks) {
  std::string aside = aside_of(folder, number);
  try {
    fs::remove_all(aside);
    for (int rank = 0; rank < ranks; rank += most_ranks_in_one_folder) {
      fs::create_directories((fs::path(aside) / checkpoint_file_name(rank, ranks)).parent_path());
    }
  } catch (const fs::filesystem_error& error) {
    throw_no_room(error);
  }
  return aside;
}

void publish_checkpoint(const std::string& folder, const Checkpoint& checkpoint) {
  const std::string aside = aside_of(folder, checkpoint.number);
  Json files = Json::list();
  for (const CheckpointFile& file : checkpoint.files) {
    files.push_back(
        {{"path", file.name}, {"bytes", file.bytes}, {"crc32c", hexadecimal(file.crc)}});
  }
  write_signed(aside + "/" + checkpoint_name, checkpoint_file_type,
               {{"number", checkpoint.number},
                {"state", checkpoint.state},
                {"tessera", checkpoint.version},
                {"git", checkpoint.git_hash},
                {"configuration_hash", checkpoint.configuration_hash},
                {"inputs", checkpoint.inputs},
                {"cut_ps", checkpoint.cut_ps},
                {"files", files},
                {"segments", to_json(checkpoint.segments)}});
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(aside)) {
      if (entry.is_directory()) {
        sync_path(entry.path().string());
      }
    }
    sync_and_rename(aside, checkpoint_path(folder, checkpoint.number));
    sync_path(folder);  // it may hold the folder of checkpoints since now
    const std::vector<std::uint32_t> numbers = list_checkpoints(folder);
    for (std::size_t old = kept; old < numbers.size(); ++old) {
      fs::remove_all(checkpoint_path(folder, numbers[old]));
    }
  } catch (const fs::filesystem_error& error) {
    throw_no_room(error);
  }
}

void discard_checkpoint(const std::string& folder, std::uint32_t number) {
  std::error_code ignored;
  fs::remove_all(aside_of(folder, number), ignored);
  fs::remove_all(checkpoint_path(folder, number), ignored);
}

Checkpoint read_checkpoint(const std::string& folder, std::uint32_t number) {
  const std::string path = checkpoint_path(folder, number) + "/" + checkpoint_name;
  const Json json = read_signed(path, checkpoint_file_type);
  Checkpoint checkpoint;
  try {
    json.at("number").get_to(checkpoint.number);
    if (json.find("state") != nullptr) {
      json.at("state").get_to(checkpoint.state);
    }
    json.at("tessera").get_to(checkpoint.version);
    json.at("git").get_to(checkpoint.git_hash);
    json.at("configuration_hash").get_to(checkpoint.configuration_hash);
    if (json.find("inputs") != nullptr) {
      json.at("inputs").get_to(checkpoint.inputs);
    }
    json.at("cut_ps").get_to(checkpoint.cut_ps);
    for (const Json& entry : json.at("files").items()) {
      checkpoint.files.push_back({entry.at("path").get<std::string>(),
                                  entry.at("bytes").get<std::uint64_t>(),
                                  crc_from(entry.at("crc32c").get<std::string>())});
    }
    checkpoint.segments = segments_from(json.at("segments"));
  } catch (const JsonError&) {
    throw IoError(path + ": error: damaged (not the JSON it should be)");
  }
  const bool sound = checkpoint.number == number && !checkpoint.segments.empty() &&
                     !checkpoint.files.empty() && checkpoint.cut_ps >= 0 &&
                     std::all_of(checkpoint.files.begin(), checkpoint.files.end(),
                                 [](const CheckpointFile& file) { return is_inside(file.name); });
  if (!sound) {
    throw IoError(path + ": error: damaged (not what it should be)");
  }
  return checkpoint;
}

std::string fault_of(const std::string& folder, const Checkpoint& checkpoint, std::size_t file) {
  const CheckpointFile& expected = checkpoint.files[file];
  const std::string path = checkpoint_path(folder, checkpoint.number) + "/" + expected.name;
  return fault_of_file(path, path, expected.bytes, hexadecimal(expected.crc));
}

}  // namespace tessera::trace
