#include "tessera/trace/store/signed_json.hpp"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "schema.hpp"
#include "store/json_sum.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"

namespace tessera::trace {
namespace {

constexpr std::chrono::seconds sync_interval{1};

using WallClock = std::chrono::steady_clock;

}  // namespace

std::string hexadecimal(std::uint32_t value) {
  std::string text(8, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) {
    *digit = "0123456789abcdef"[value & 0xF];
  }
  return text;
}

bool is_inside(const std::string& name) {
  const std::filesystem::path path(name);
  return !name.empty() && path.is_relative() &&
         std::find(path.begin(), path.end(), "..") == path.end();
}

std::string crc_of(Json json) {
  json.erase("crc32c");
  const std::string text = json.text();
  return hexadecimal(crc32c(text.data(), text.size()));
}

void write_signed(const std::string& path, const std::string& file_type, const Json& members) {
  Json json{{"file_type", file_type}, {"format_version", format_version}};
  json.update(members);
  json["crc32c"] = crc_of(json);
  write_file_atomically(path, json.text(2) + "\n");
}

Json read_signed(const std::string& path, const std::string& file_type) {
  std::optional<Json> json = Json::parse(read_file(path));
  try {
    if (!json || json->at("file_type") != file_type) {
      throw IoError(path + ": error: damaged (not the JSON it should be)");
    }
    if (const auto version = json->at("format_version").get<std::string>();
        !version.starts_with(readable_versions)) {
      throw ConfigError(path + ": error: has format version '" + version +
                        "'; this program reads " + std::string(readable_versions) + "x");
    }
    if (json->at("crc32c") != crc_of(*json)) {
      throw IoError(path + ": error: damaged (CRC-32C differs)");
    }
  } catch (const JsonError&) {
    throw IoError(path + ": error: damaged (not the JSON it should be)");
  }
  return std::move(*json);
}

std::string signed_line(Json members) {
  members["crc32c"] = crc_of(members);
  return members.text() + "\n";
}

std::vector<Json> read_signed_lines(std::string_view text) {
  std::vector<Json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string_view::npos) {
      break;  // cut off
    }
    std::optional<Json> json = Json::parse(text.substr(at, end - at));
    at = end + 1;
    const Json* const sum = json ? json->find("crc32c") : nullptr;
    if (sum != nullptr && *sum == crc_of(*json)) {
      lines.push_back(std::move(*json));
    }
  }
  return lines;
}

std::vector<Json> read_signed_log(const std::string& path) {
  return read_signed_lines(read_file(path));
}

struct SignedLog::Impl {
  explicit Impl(const std::string& path) : file(path, O_WRONLY | O_CREAT | O_APPEND) {}
  Descriptor file;
  WallClock::time_point synced = WallClock::now();
};

SignedLog::SignedLog(const std::string& path) : impl_(std::make_unique<Impl>(path)) {
  if (std::filesystem::file_size(path) > 0) {
    impl_->file.write("\n");  // ends a line that a kill may have cut
  }
}

SignedLog::~SignedLog() = default;

void SignedLog::append(Json members) {
  impl_->file.write(signed_line(std::move(members)));
  if (WallClock::now() - impl_->synced >= sync_interval) {
    sync();
  }
}

void SignedLog::sync() {
  impl_->file.sync();
  impl_->synced = WallClock::now();
}

}  // namespace tessera::trace
