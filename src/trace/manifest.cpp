// manifest.json: what a complete run folder holds, so that a reader can tell before it opens the
// files.
#include <filesystem>

#include "schema.hpp"
#include "store/json_sum.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/store/signed_json.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {
namespace {

constexpr const char* manifest_file_type = "tessera-manifest";

Json describe_file(const std::string& name, const FileSum& sum) {
  return {{"path", name}, {"bytes", sum.bytes}, {"crc32c", hexadecimal(sum.crc)}};
}

Json rows_of(const std::string& folder, const TracePart& part) {
  const TraceReader reader(folder + "/" + part.name, Trust::commits);
  Json rows = Json::object();
  for (const std::string& table : reader.table_names()) {
    rows[table] = part.good_rows(table, reader.committed_rows(table));
  }
  return rows;
}

// What is wrong with one listed file; "" when nothing is.
std::string fault_of(const std::string& folder, const Json& entry) {
  const auto name = entry.at("path").get<std::string>();
  const auto bytes = entry.at("bytes").get<std::uint64_t>();
  if (!is_inside(name)) {
    return name + ": lies outside the folder";
  }
  const std::string path = folder + "/" + name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return name + ": missing";
  }
  return fault_of_file(path, name, bytes, entry.at("crc32c").get<std::string>());
}

}  // namespace

namespace {

// `last` are the sums of the last traces, if any.
void write_manifest(const std::string& folder, int ranks, const std::vector<TracePart>& traces,
                    std::span<const FileSum> last) {
  Json files = Json::list();
  const auto add_if_present = [&](const char* name) {
    if (std::filesystem::exists(folder + "/" + name)) {
      files.push_back(describe_file(name, sum_file(folder + "/" + name)));
    }
  };
  add_if_present(config_name);
  ensure(last.size() <= traces.size(), "as many sums as traces");
  const std::size_t first_known = traces.size() - last.size();
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const std::string& name = traces[i].name;
    Json entry = describe_file(
        name, i < first_known ? sum_file(folder + "/" + name) : last[i - first_known]);
    entry["rows"] = rows_of(folder, traces[i]);
    files.push_back(std::move(entry));
  }
  add_if_present(segments_name);
  add_if_present(index_name);
  add_if_present(node_events_name);
  add_if_present(summary_name);
  write_signed(folder + "/" + manifest_name, manifest_file_type,
               {{"ranks", ranks}, {"files", files}});
}

}  // namespace

void write_manifest(const std::string& folder, int ranks) {
  write_manifest(folder, ranks, trace_parts(ranks), {});
}

void write_manifest(const std::string& folder, const std::vector<Segment>& segments,
                    std::span<const FileSum> last) {
  write_manifest(folder, segments.empty() ? 0 : segments.back().cost.ranks, trace_parts(segments),
                 last);
}

std::vector<std::string> verify_run_folder(const std::string& folder) {
  const std::string path = folder + "/" + manifest_name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return {std::string(manifest_name) + ": missing; the run did not finish"};
  }
  const std::string not_json = std::string(manifest_name) + ": damaged (not the JSON it should be)";
  std::vector<std::string> faults;
  try {
    const std::optional<Json> manifest = Json::parse(read_file(path));
    if (!manifest) {
      return {not_json};
    }
    if (manifest->at("file_type") != manifest_file_type ||
        !manifest->at("format_version").get<std::string>().starts_with(readable_versions)) {
      return {std::string(manifest_name) + ": is none this program reads"};
    }
    if (manifest->at("crc32c") != crc_of(*manifest)) {
      return {std::string(manifest_name) + ": damaged (CRC-32C differs)"};
    }
    for (const Json& entry : manifest->at("files").items()) {
      const std::string fault = fault_of(folder, entry);
      if (!fault.empty()) {
        faults.push_back(fault);
      }
    }
  } catch (const JsonError&) {
    faults.push_back(not_json);
  } catch (const IoError& unreadable) {
    faults.emplace_back(unreadable.what());
  }
  return faults;
}

}  // namespace tessera::trace
