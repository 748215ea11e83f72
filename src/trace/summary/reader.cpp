// summary.json, read back.
#include <filesystem>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "schema.hpp"
#include "store/posix_file.hpp"
#include "store/segment_json.hpp"
#include "summary/members.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::trace {
namespace {

// Far more than 100 000 ranks need; a longer file is something else.
constexpr std::uintmax_t most_bytes = 64U << 20;

// A value in the file, for messages.
struct Spot {
  std::string path;
  std::string key;  // "" for the whole

  Spot inner(const std::string& name) const {
    return {path, key.empty() ? name : key + "." + name};
  }
  [[noreturn]] void refuse(const std::string& fault) const {
    throw IoError(
        path + ": error: is no summary of a run: " + (key.empty() ? "" : "'" + key + "' ") + fault);
  }
};

void read(const Json& json, const Spot& spot, std::string& value) {
  if (!json.is_text()) {
    spot.refuse("is not a text");
  }
  json.get_to(value);
}

void read(const Json& json, const Spot& spot, double& value) {
  if (!json.is_number()) {
    spot.refuse("is not a number");
  }
  json.get_to(value);
}

template <class Integer>
requires std::is_integral_v<Integer>
void read(const Json& json, const Spot& spot, Integer& value) {
  using Limits = std::numeric_limits<Integer>;
  if (!json.is_whole_in(static_cast<std::int64_t>(Limits::min()),
                        static_cast<std::uint64_t>(Limits::max()))) {
    spot.refuse("is not a whole number in range");
  }
  json.get_to(value);
}

template <class Item>
requires std::is_integral_v<Item> || std::is_same_v<Item, std::string>
void read(const Json& json, const Spot& spot, std::vector<Item>& value) {
  if (!json.is_list()) {
    spot.refuse("is not a list");
  }
  for (const Json& item : json.items()) {
    read(item, spot, value.emplace_back());
  }
}

void check_object(const Json& json, const Spot& spot) {
  if (!json.is_object()) {
    spot.refuse(spot.key.empty() ? "no keys and values" : "has no keys and values");
  }
}

void read(const Json& json, const Spot& spot, Quantiles& value);
void read(const Json& json, const Spot& spot, std::vector<ServiceWindow>& value);

// Leaves `value` alone when the key is missing or null.
template <class Value>
void take(const Json& object, const Spot& spot, const char* key, Value& value) {
  const Json* const found = object.find(key);
  if (found != nullptr && !found->is_null()) {
    read(*found, spot.inner(key), value);
  }
}

template <class Number>
void read(const Json& json, const Spot& spot, std::optional<Number>& value) {
  read(json, spot, value.emplace());
}

Breakdown read_group(const Json& json, const Spot& spot, std::string name) {
  check_object(json, spot);
  Breakdown group{std::move(name), 0, {}};
  take(json, spot, "name", group.name);
  take(json, spot, "tiles", group.tiles);
  for (const auto& [activity, part] : json.members()) {
    if (part.is_object() && part.contains("mean_ps")) {
      take(part, spot.inner(activity), "mean_ps", group.mean_ps.emplace_back(activity, 0).second);
    }
  }
  return group;
}

void read(const Json& json, const Spot& spot, std::vector<Breakdown>& value) {
  check_object(json, spot);
  if (const Json* const total = json.find("total")) {
    value.push_back(read_group(*total, spot.inner("total"), "total"));
  }
  const Json* const stages = json.find("stages");
  if (stages == nullptr) {
    return;
  }
  if (!stages->is_list()) {
    spot.inner("stages").refuse("is not a list");
  }
  for (std::size_t stage = 0; stage < stages->size(); ++stage) {
    const std::string number = std::to_string(stage);
    value.push_back(
        read_group(stages->items()[stage], spot.inner("stages." + number), "stage " + number));
  }
}

void read(const Json& json, const Spot& spot, std::vector<PeakMemory>& value) {
  check_object(json, spot);
  const Json* const stages = json.find("stages");
  if (stages == nullptr || !stages->is_list()) {
    spot.inner("stages").refuse("is not a list");
  }
  for (const Json& stage : stages->items()) {
    check_object(stage, spot);
    PeakMemory& peak = value.emplace_back();
    visit_peak(peak, [&](const char* key, auto& member) { take(stage, spot, key, member); });
    if (const Json* const parts = stage.find("parts")) {
      check_object(*parts, spot);
      for (const auto& [part, bytes] : parts->members()) {
        read(bytes, spot.inner(part), peak.parts.emplace_back(part, 0).second);
      }
    }
  }
}

void read(const Json& json, const Spot& spot, std::vector<Measured>& value) {
  if (!json.is_list()) {
    spot.refuse("is not a list");
  }
  for (const Json& item : json.items()) {
    check_object(item, spot);
    Measured& of_job = value.emplace_back();
    take(item, spot, "tenant", of_job.tenant);
    for (const auto& [name, number] : item.members()) {
      if (number.is_whole_in(0, std::numeric_limits<std::uint64_t>::max())) {
        std::uint64_t count = 0;
        read(number, spot.inner(name), count);
        of_job.measures.push_back({name, count});
      } else if (number.is_number()) {
        double measure = 0;
        read(number, spot.inner(name), measure);
        of_job.measures.push_back({name, measure});
      }
    }
  }
}

void read(const Json& json, const Spot& spot, std::vector<TenantResult>& value) {
  if (!json.is_list()) {
    spot.refuse("is not a list");
  }
  for (const Json& item : json.items()) {
    check_object(item, spot);
    visit_tenant(value.emplace_back(),
                 [&](const char* key, auto& member) { take(item, spot, key, member); });
  }
}

void read(const Json& json, const Spot& spot, std::vector<SegmentCost>& value) {
  if (!json.is_list()) {
    spot.refuse("is not a list");
  }
  for (const Json& item : json.items()) {
    check_object(item, spot);
    visit_cost(value.emplace_back(),
               [&](const char* key, auto& member) { take(item, spot, key, member); });
  }
}

void read(const Json& json, const Spot& spot, Quantiles& value) {
  check_object(json, spot);
  visit_quantiles(value, [&](const char* key, auto& member) { take(json, spot, key, member); });
}

void read(const Json& json, const Spot& spot, std::vector<ServiceWindow>& value) {
  if (!json.is_list()) {
    spot.refuse("is not a list");
  }
  for (const Json& item : json.items()) {
    check_object(item, spot);
    visit_window(value.emplace_back(),
                 [&](const char* key, auto& member) { take(item, spot, key, member); });
  }
}

void read(const Json& json, const Spot& spot, std::vector<Service>& value) {
  if (!json.is_list()) {
    spot.refuse("is not a list");
  }
  for (const Json& item : json.items()) {
    check_object(item, spot);
    visit_service(value.emplace_back(),
                  [&](const char* key, auto& member) { take(item, spot, key, member); });
  }
}

Json parse(const Spot& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file.path, error);
  if (!error && bytes > most_bytes) {
    file.refuse("too long");
  }
  std::optional<Json> json = Json::parse(read_file(file.path));
  if (!json) {
    file.refuse("not JSON");
  }
  check_object(*json, file);
  return std::move(*json);
}

void check_format(const Json& json, const Spot& file) {
  std::string type;
  std::string format;
  take(json, file, "file_type", type);
  take(json, file, "format_version", format);
  if (type != summary_file_type) {
    file.refuse("its file type is '" + type + "'");
  }
  if (!format.starts_with(readable_versions)) {
    file.refuse("its format version is '" + format + "'; this program reads " +
                std::string(readable_versions) + "x");
  }
}

}  // namespace

Summary read_summary(const std::string& path) {
  const Spot file{path, ""};
  const Json json = parse(file);
  check_format(json, file);
  Summary summary;
  visit_members(summary, [&](const char* key, auto& member) { take(json, file, key, member); });
  if (summary.status.empty()) {
    file.refuse("no status");
  }
  if (const Json* const versions = json.find("versions")) {
    const Spot spot = file.inner("versions");
    check_object(*versions, spot);
    visit_versions(summary,
                   [&](const char* key, auto& member) { take(*versions, spot, key, member); });
  }
  return summary;
}

}  // namespace tessera::trace
