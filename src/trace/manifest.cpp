// manifest.json: what a complete run folder holds, so that a reader can tell before it opens the
// files.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "posix_file.hpp"
#include "schema.hpp"
#include "tessera/core/digest.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/run_folder.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {
namespace {

// Keeps the order of keys.
using Json = nlohmann::ordered_json;

constexpr const char* manifest_file_type = "tessera-manifest";

std::string hexadecimal(std::uint32_t value) {
  std::string text(8, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, value >>= 4) {
    *digit = "0123456789abcdef"[value & 0xF];
  }
  return text;
}

// CRC-32C of all the manifest but this, so that a damaged manifest is noticed too.
std::string crc_of(Json manifest) {
  manifest.erase("crc32c");
  const std::string text = manifest.dump();
  return hexadecimal(crc32c(text.data(), text.size()));
}

Json describe_file(const std::string& folder, const std::string& name) {
  const FileSum sum = sum_file(folder + "/" + name);
  return {{"path", name}, {"bytes", sum.bytes}, {"crc32c", hexadecimal(sum.crc)}};
}

Json rows_of(const std::string& path) {
  const TraceReader reader(path, Trust::commits);
  Json rows = Json::object();
  for (const std::string& table : reader.table_names()) {
    rows[table] = reader.committed_rows(table);
  }
  return rows;
}

// Whether a name stays inside the folder: the manifest may come from anywhere.
bool is_inside(const std::string& name) {
  const std::filesystem::path path(name);
  return !name.empty() && path.is_relative() &&
         std::find(path.begin(), path.end(), "..") == path.end();
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
  try {
    const FileSum sum = sum_file(path);
    if (sum.bytes != bytes) {
      return name + ": has " + std::to_string(sum.bytes) + " bytes instead of " +
             std::to_string(bytes);
    }
    if (hexadecimal(sum.crc) != entry.at("crc32c").get<std::string>()) {
      return name + ": damaged (CRC-32C differs)";
    }
  } catch (const IoError& unreadable) {
    return unreadable.what();
  }
  return "";
}

}  // namespace

void write_manifest(const std::string& folder, int ranks) {
  Json files = Json::array();
  const auto add_if_present = [&](const char* name) {
    if (std::filesystem::exists(folder + "/" + name)) {
      files.push_back(describe_file(folder, name));
    }
  };
  add_if_present(config_name);
  for (int rank = 0; rank < ranks; ++rank) {
    const std::string name = trace_name(rank, ranks);
    Json entry = describe_file(folder, name);
    entry["rows"] = rows_of(folder + "/" + name);
    files.push_back(std::move(entry));
  }
  add_if_present(index_name);
  add_if_present(summary_name);
  Json manifest{{"file_type", manifest_file_type},
                {"format_version", format_version},
                {"ranks", ranks},
                {"files", files}};
  manifest["crc32c"] = crc_of(manifest);
  write_file_atomically(folder + "/" + manifest_name, manifest.dump(2) + "\n");
}

std::vector<std::string> verify_run_folder(const std::string& folder) {
  const std::string path = folder + "/" + manifest_name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return {std::string(manifest_name) + ": missing; the run did not finish"};
  }
  std::vector<std::string> faults;
  try {
    const Json manifest = Json::parse(read_file(path));
    if (manifest.at("file_type") != manifest_file_type ||
        !manifest.at("format_version").get<std::string>().starts_with(readable_versions)) {
      return {std::string(manifest_name) + ": is none this program reads"};
    }
    if (manifest.at("crc32c") != crc_of(manifest)) {
      return {std::string(manifest_name) + ": damaged (CRC-32C differs)"};
    }
    for (const Json& entry : manifest.at("files")) {
      const std::string fault = fault_of(folder, entry);
      if (!fault.empty()) {
        faults.push_back(fault);
      }
    }
  } catch (const Json::exception&) {
    faults.push_back(std::string(manifest_name) + ": damaged (not the JSON it should be)");
  }
  return faults;
}

}  // namespace tessera::trace
