#include "tessera/trace/store/segment.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "store/posix_file.hpp"
#include "store/segment_json.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/store/signed_json.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {
namespace {

constexpr const char* segments_file_type = "tessera-segments";

// Root attributes that a trace gets from its writer.
bool is_writers_own(const std::string& attribute) {
  return attribute == "file_type" || attribute == "format_version" || attribute == "time_unit";
}

// Rows that are copied at a time: two chunks.
constexpr std::uint64_t block_rows = 32'768;

void copy_rows(const TraceReader& from, const std::string& table, std::uint64_t rows, TraceFile& to,
               TableIndex index) {
  for (std::uint64_t first = 0; first < rows; first += block_rows) {
    const ReadTable block = from.read(table, first, std::min(block_rows, rows - first));
    for (std::uint64_t row = 0; row < block.rows; ++row) {
      std::memcpy(to.add(index, block.spec.row_bytes),
                  block.bytes.data() + row * block.spec.row_bytes, block.spec.row_bytes);
    }
  }
}

}  // namespace

std::uint64_t TracePart::good_rows(std::string_view table, std::uint64_t committed) const {
  if (!rows) {
    return committed;
  }
  const auto found = rows->find(table);
  return found == rows->end() ? 0 : found->second;
}

std::vector<TracePart> trace_parts(const std::vector<Segment>& segments) {
  std::vector<TracePart> parts;
  for (const Segment& segment : segments) {
    for (int rank = 0; rank < segment.cost.ranks; ++rank) {
      TracePart part{trace_name(rank, segment.cost.ranks, segment.number), segment.number, rank,
                     std::nullopt};
      if (!segment.rows.empty()) {
        part.rows = segment.rows.at(static_cast<std::size_t>(rank));
      }
      parts.push_back(std::move(part));
    }
  }
  return parts;
}

std::vector<TracePart> trace_parts(int ranks) {
  Segment only;
  only.cost.ranks = ranks;
  return trace_parts(std::vector<Segment>{only});
}

Json to_json(const std::vector<Segment>& segments) {
  Json list = Json::list();
  for (const Segment& segment : segments) {
    Json json{{"number", segment.number}};
    visit_cost(segment.cost, [&](const char* key, const auto& member) { json[key] = member; });
    Json traces = Json::list();
    for (std::size_t rank = 0; rank < segment.rows.size(); ++rank) {
      traces.push_back(
          {{"path", trace_name(static_cast<int>(rank), segment.cost.ranks, segment.number)},
           {"rows", segment.rows[rank]}});
    }
    json["traces"] = std::move(traces);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<Segment> segments_from(const Json& json) {
  std::vector<Segment> segments;
  for (const Json& entry : json.items()) {
    Segment segment;
    entry.at("number").get_to(segment.number);
    visit_cost(segment.cost, [&](const char* key, auto& member) { entry.at(key).get_to(member); });
    for (const Json& trace : entry.at("traces").items()) {
      segment.rows.push_back(trace.at("rows").get<RowCounts>());
    }
    segments.push_back(std::move(segment));
  }
  return segments;
}

void write_segments(const std::string& folder, const std::vector<Segment>& segments) {
  write_signed(folder + "/" + segments_name, segments_file_type, {{"segments", to_json(segments)}});
}

void settle_trace(const std::string& folder, const TracePart& part) {
  const std::string path = folder + "/" + part.name;
  const std::string aside = path + aside_suffix;
  SimTime end;
  {
    const TraceReader reader(path);
    const std::vector<std::string> names = reader.table_names();
    for (const std::string& table : names) {
      const std::uint64_t committed = reader.committed_rows(table);
      if (part.good_rows(table, committed) > committed) {
        throw IoError(path + ": error: damaged: table '" + table + "' has " +
                      std::to_string(committed) + " good rows instead of " +
                      std::to_string(part.good_rows(table, committed)));
      }
    }
    if (reader.closed()) {
      return;
    }
    std::vector<TableSpec> specs;
    for (const std::string& table : names) {
      specs.push_back(reader.spec(table));
    }
    Attributes attributes = reader.attributes();
    std::erase_if(attributes, [](const auto& each) { return is_writers_own(each.first); });
    std::error_code ignored;
    std::filesystem::remove(aside, ignored);  // of an attempt that was cut short
    TraceFile copy(aside, specs, attributes);
    for (std::size_t table = 0; table < names.size(); ++table) {
      const std::uint64_t committed = reader.committed_rows(names[table]);
      copy_rows(reader, names[table], part.good_rows(names[table], committed), copy, table);
    }
    copy.close(reader.committed_time());
  }
  sync_and_rename(aside, path);
}

}  // namespace tessera::trace
