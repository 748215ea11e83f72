#include "table/rows.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/store/signed_json.hpp"

namespace tessera::explore {
namespace {

trace::Json json_of(const SweepRow& row) {
  return {{"point", row.point},     {"places", row.places}, {"status", row.status},
          {"message", row.message}, {"digest", row.digest}, {"numbers", row.numbers},
          {"notes", row.notes}};
}

}  // namespace

SweepRow row_from(const trace::Json& json) {
  SweepRow row;
  try {
    json.at("point").get_to(row.point);
    json.at("places").get_to(row.places);
    json.at("status").get_to(row.status);
    json.at("message").get_to(row.message);
    json.at("digest").get_to(row.digest);
    json.at("numbers").get_to(row.numbers);
    if (json.contains("notes")) {  // not in those of earlier builds
      json.at("notes").get_to(row.notes);
    }
  } catch (const trace::JsonError& error) {
    throw IoError(std::string("a log of a sweep has a line that is no point: ") + error.what());
  }
  return row;
}

struct SweepLog::Impl {
  explicit Impl(const std::string& path) : lines(path) {}
  trace::SignedLog lines;
};

SweepLog::SweepLog(const std::string& path) : impl_(std::make_unique<Impl>(path)) {}

SweepLog::~SweepLog() = default;

void SweepLog::append(const SweepRow& row) {
  impl_->lines.append(json_of(row));
}

void SweepLog::sync() {
  impl_->lines.sync();
}

std::string to_json_line(const SweepRow& row) {
  return trace::signed_line(json_of(row));
}

std::vector<SweepRow> rows_from_lines(const std::string& text) {
  std::vector<SweepRow> rows;
  for (const trace::Json& line : trace::read_signed_lines(text)) {
    rows.push_back(row_from(line));
  }
  return rows;
}

}  // namespace tessera::explore
