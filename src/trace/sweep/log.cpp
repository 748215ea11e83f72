#include <fcntl.h>

#include <chrono>
#include <filesystem>

#include "store/posix_file.hpp"
#include "store/signed_json.hpp"
#include "tessera/trace/sweep/table.hpp"

namespace tessera::trace {
namespace {

constexpr std::chrono::seconds sync_interval{1};

using WallClock = std::chrono::steady_clock;

}  // namespace

struct SweepLog::Impl {
  explicit Impl(const std::string& path) : file(path, O_WRONLY | O_CREAT | O_APPEND) {}
  Descriptor file;
  WallClock::time_point synced = WallClock::now();
};

SweepLog::SweepLog(const std::string& path) : impl_(std::make_unique<Impl>(path)) {
  if (std::filesystem::file_size(path) > 0) {
    impl_->file.write("\n");  // ends a line that a kill may have cut
  }
}

SweepLog::~SweepLog() = default;

void SweepLog::append(const SweepRow& row) {
  impl_->file.write(to_json_line(row));
  if (WallClock::now() - impl_->synced >= sync_interval) {
    sync();
  }
}

void SweepLog::sync() {
  impl_->file.sync();
  impl_->synced = WallClock::now();
}

std::string to_json_line(const SweepRow& row) {
  SignedJson json{{"point", row.point},     {"places", row.places}, {"status", row.status},
                  {"message", row.message}, {"digest", row.digest}, {"numbers", row.numbers}};
  json["crc32c"] = crc_of(json);
  return json.dump(-1, ' ', false, SignedJson::error_handler_t::replace) + "\n";
}

std::vector<SweepRow> rows_from_lines(const std::string& text) {
  std::vector<SweepRow> rows;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) {
      break;  // cut off
    }
    const SignedJson json = SignedJson::parse(text.substr(at, end - at), nullptr, false);
    at = end + 1;
    if (!json.is_object() || !json.contains("crc32c") || json["crc32c"] != crc_of(json)) {
      continue;
    }
    SweepRow row;
    json.at("point").get_to(row.point);
    json.at("places").get_to(row.places);
    json.at("status").get_to(row.status);
    json.at("message").get_to(row.message);
    json.at("digest").get_to(row.digest);
    json.at("numbers").get_to(row.numbers);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tessera::trace
