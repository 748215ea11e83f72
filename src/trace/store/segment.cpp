#include "tessera/trace/store/segment.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>

#include "store/posix_file.hpp"
#include "store/segment_json.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/records.hpp"
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

std::vector<Segment> read_segments(const std::string& folder) {
  const std::string path = folder + "/" + segments_name;
  if (!std::filesystem::exists(path)) {
    return {};
  }
  constexpr int most_ranks = 1 << 20;
  std::vector<Segment> segments;
  try {
    segments = segments_from(read_signed(path, segments_file_type).at("segments"));
  } catch (const JsonError&) {
    throw IoError(path + ": error: damaged (not the JSON it should be)");
  }
  for (const Segment& segment : segments) {
    if (segment.cost.ranks < 1 || segment.cost.ranks > most_ranks) {
      throw IoError(path + ": error: damaged (not what it should be)");
    }
  }
  return segments;
}

namespace {

// Rows of each table that are there, and those of them that count; what is missing, in words.
SettledTrace survey(const TraceReader& reader, const TracePart& part) {
  SettledTrace found;
  std::vector<std::string> missing;
  for (const std::string& table : reader.table_names()) {
    const std::uint64_t committed = reader.committed_rows(table);
    const std::uint64_t expected = part.good_rows(table, committed);
    found.rows[table] = std::min(committed, expected);
    if (expected > committed) {
      missing.push_back("table '" + table + "' has " + std::to_string(committed) +
                        " good rows instead of " + std::to_string(expected));
    }
  }
  if (!missing.empty()) {
    found.loss = join(missing) + (reader.damage().empty() ? "" : " (" + reader.damage() + ")");
  }
  return found;
}

// A new trace of these rows of `reader`.
void copy_trace(const TraceReader& reader, const RowCounts& rows, const std::string& path) {
  const std::vector<std::string> names = reader.table_names();
  std::vector<TableSpec> specs;
  for (const std::string& table : names) {
    specs.push_back(reader.spec(table));
  }
  Attributes attributes = reader.attributes();
  std::erase_if(attributes, [](const auto& each) { return is_writers_own(each.first); });
  TraceFile copy(path, specs, attributes);
  for (std::size_t table = 0; table < names.size(); ++table) {
    copy_rows(reader, names[table], rows.at(names[table]), copy, table);
  }
  copy.close(reader.committed_time());
}

// A trace without rows in the place of one that cannot be read.
SettledTrace replace_unreadable(const std::string& path, const Attributes& attributes,
                                const std::string& reason) {
  SettledTrace settled;
  for (const TableSpec& table : tables()) {
    settled.rows[table.name] = 0;
  }
  settled.loss = "none of its rows can be read (" + reason + ")";
  TraceFile empty(path, tables(), attributes);
  empty.close(SimTime::zero());
  return settled;
}

// A new trace of what can be read of a damaged one, table by table.
SettledTrace save_chunks(const std::string& path, const TracePart& part, const std::string& aside,
                         const Attributes& otherwise) {
  std::optional<TraceReader> reader;
  try {
    reader.emplace(path, Trust::chunks);
  } catch (const IoError& unreadable) {
    return replace_unreadable(aside, otherwise, unreadable.what());
  }
  SettledTrace settled = survey(*reader, part);
  copy_trace(*reader, settled.rows, aside);
  return settled;
}

// What would be lost; none where nothing would, or nothing can be read.
std::optional<std::string> loss_by_chunks(const std::string& path, const TracePart& part) {
  try {
    const std::string loss = survey(TraceReader(path, Trust::chunks), part).loss;
    return loss.empty() ? std::nullopt : std::optional(path + ": error: damaged: " + loss);
  } catch (const IoError&) {
    return std::nullopt;
  }
}

}  // namespace

SettledTrace settle_trace(const std::string& folder, const TracePart& part, Losses losses,
                          const Attributes& otherwise) {
  const std::string path = folder + "/" + part.name;
  const std::string aside = path + aside_suffix;
  std::error_code ignored;
  std::filesystem::remove(aside, ignored);  // of an attempt that was cut short
  std::optional<TraceReader> reader;
  SettledTrace settled;
  std::string damage;
  try {
    reader.emplace(path);
    settled = survey(*reader, part);
    damage = settled.loss.empty() ? "" : path + ": error: damaged: " + settled.loss;
  } catch (const IoError& unreadable) {
    damage = unreadable.what();
  }
  if (!damage.empty() && losses == Losses::refused) {
    reader.reset();
    throw DamagedTrace(loss_by_chunks(path, part).value_or(damage));
  }
  if (!damage.empty()) {
    reader.reset();
    settled = save_chunks(path, part, aside, otherwise);
  } else if (reader->closed()) {
    return settled;
  } else {
    copy_trace(*reader, settled.rows, aside);
    reader.reset();
  }
  if (!settled.loss.empty()) {
    settled.loss = part.name + ": " + settled.loss;
    if (std::filesystem::exists(path, ignored)) {
      sync_and_rename(path, path + damaged_suffix);
    }
  }
  sync_and_rename(aside, path);
  return settled;
}

}  // namespace tessera::trace
