// summary.json, written and read back.
#include "tessera/trace/summary.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <type_traits>
#include <utility>

#include "breakdown_sum.hpp"
#include "schema.hpp"
#include "store/posix_file.hpp"
#include "store/segment_json.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::trace {
namespace {

constexpr const char* summary_file_type = "tessera-summary";

// Far more than 100 000 ranks need; a longer file is something else.
constexpr std::uintmax_t most_bytes = 64U << 20;

// Calls visit(key, member) for every member that is a plain value or a list of them, in the order
// of the file; so that writing and reading cannot differ.
template <class AnySummary, class Visit>
void visit_members(AnySummary& summary, Visit visit) {
  visit("status", summary.status);
  visit("message", summary.message);
  visit("experiment", summary.experiment);
  visit("machine", summary.machine);
  visit("workload", summary.workload);
  visit("notes", summary.notes);
  visit("simulated_time_ps", summary.simulated_time_ps);
  visit("iteration_time_ps", summary.iteration_time_ps);
  visit("ideal_time_ps", summary.ideal_time_ps);
  visit("iterations", summary.iterations);
  visit("replayed_micro_batches", summary.replayed_micro_batches);
  visit("throughput_samples_per_s", summary.throughput_samples_per_s);
  visit("steady_throughput_samples_per_s", summary.steady_throughput_samples_per_s);
  visit("achieved_flops_per_s", summary.achieved_flops_per_s);
  visit("peak_flops_per_s", summary.peak_flops_per_s);
  visit("samples_per_iteration", summary.samples_per_iteration);
  visit("flops_per_iteration", summary.flops_per_iteration);
  visit("executed_flops_per_iteration", summary.executed_flops_per_iteration);
  visit("energy_j_per_iteration", summary.energy_j_per_iteration);
  visit("power_w_per_tile", summary.power_w_per_tile);
  visit("message_bytes", summary.message_bytes);
  visit("collective_bytes", summary.collective_bytes);
  visit("memory_read_bytes", summary.memory_read_bytes);
  visit("memory_written_bytes", summary.memory_written_bytes);
  visit("memory_bytes", summary.memory_bytes);
  visit("breakdown", summary.breakdown);
  visit("peak_memory", summary.peak_memory);
  visit("services", summary.services);
  visit("service_totals", summary.service_totals);
  visit("measured", summary.measured);
  visit("tenants", summary.tenants);
  visit("tiles", summary.tiles);
  visit("events", summary.events);
  visit("packet_hops", summary.packet_hops);
  visit("messages", summary.messages);
  visit("windows", summary.windows);
  visit("rounds", summary.rounds);
  visit("waits", summary.waits);
  visit("remote_events", summary.remote_events);
  visit("waiting_s", summary.waiting_s);
  visit("wall_s", summary.wall_s);
  visit("cpu_s", summary.cpu_s);
  visit("events_per_s", summary.events_per_s);
  visit("ranks", summary.ranks);
  visit("communicator", summary.communicator);
  visit("partition", summary.partition);
  visit("weights", summary.weights);
  visit("synchronization", summary.synchronization);
  visit("links", summary.links);
  visit("cut_links", summary.cut_links);
  visit("imbalance", summary.imbalance);
  visit("rank_events", summary.rank_events);
  visit("segments", summary.segments);
  visit("peak_rss_bytes", summary.peak_rss_bytes);
  visit("predicted_bytes", summary.predicted_bytes);
  visit("result_digest", summary.result_digest);
  visit("trace", summary.trace);
}

template <class AnyService, class Visit>
void visit_service(AnyService& service, Visit visit) {
  visit("tenant", service.tenant);
  visit("served", service.served);
  visit("samples", service.samples);
  visit("tokens", service.tokens);
  visit("again", service.again);
  visit("late_requests", service.late_requests);
  visit("late_tokens", service.late_tokens);
  visit("cache_blocks", service.cache_blocks);
  visit("met", service.met);
  visit("npus", service.npus);
  visit("met_per_s", service.met_per_s);
  visit("cost_a_million_tokens", service.cost_a_million_tokens);
  visit("on_s", service.on_s);
  visit("first_token_ps", service.first_token);
  visit("between_tokens_ps", service.between_tokens);
  visit("latency_ps", service.latency);
  visit("window_ps", service.window_ps);
  visit("windows", service.windows);
}

template <class AnyWindow, class Visit>
void visit_window(AnyWindow& window, Visit visit) {
  visit("arrived", window.arrived);
  visit("served", window.served);
  visit("met", window.met);
  visit("tokens", window.tokens);
  visit("running", window.running);
  visit("waiting", window.waiting);
  visit("cache_blocks", window.cache_blocks);
  visit("replicas", window.replicas);
  visit("first_token_ps", window.first_token);
  visit("a_token_ps", window.a_token);
  visit("latency_ps", window.latency);
}

template <class AnyQuantiles, class Visit>
void visit_quantiles(AnyQuantiles& quantiles, Visit visit) {
  visit("count", quantiles.count);
  visit("mean", quantiles.mean);
  visit("p50", quantiles.p50);
  visit("p95", quantiles.p95);
  visit("p99", quantiles.p99);
  visit("most", quantiles.most);
}

template <class AnyPeak, class Visit>
void visit_peak(AnyPeak& peak, Visit visit) {
  visit("name", peak.name);
  visit("bytes", peak.bytes);
  visit("phase", peak.phase);
  visit("micro_batch", peak.micro_batch);
  visit("chunk", peak.chunk);
}

template <class AnyTenant, class Visit>
void visit_tenant(AnyTenant& tenant, Visit visit) {
  visit("name", tenant.name);
  visit("workload", tenant.workload);
  visit("tiles", tenant.tiles);
  visit("iterations", tenant.iterations);
  visit("start_ps", tenant.start_ps);
  visit("end_ps", tenant.end_ps);
  visit("iteration_time_ps", tenant.iteration_time_ps);
  visit("throughput_samples_per_s", tenant.throughput_samples_per_s);
  visit("achieved_flops_per_s", tenant.achieved_flops_per_s);
  visit("peak_flops_per_s", tenant.peak_flops_per_s);
  visit("samples_per_iteration", tenant.samples_per_iteration);
  visit("flops_per_iteration", tenant.flops_per_iteration);
  visit("executed_flops_per_iteration", tenant.executed_flops_per_iteration);
}

template <class AnySummary, class Visit>
void visit_versions(AnySummary& summary, Visit visit) {
  visit("tessera", summary.version);
  visit("git", summary.git_hash);
  visit("mpi", summary.mpi);
  visit("hdf5", summary.hdf5);
}

void put_group(Json& group, const Breakdown& breakdown) {
  group["tiles"] = breakdown.tiles;
  const double sum = sum_of(breakdown);
  for (const auto& [activity, mean_ps] : breakdown.mean_ps) {
    group[activity] = {{"mean_ps", mean_ps},
                       {"share", sum > 0 ? static_cast<double>(mean_ps) / sum : 0.0}};
  }
}

template <class Value>
Json json_of(const Value& value) {
  return value;
}

template <class Number>
Json json_of(const std::optional<Number>& value) {
  return value ? Json(*value) : Json();
}

Json json_of(const std::vector<Breakdown>& breakdown) {
  Json json = Json::object();
  Json stages = Json::list();
  for (const Breakdown& group : breakdown) {
    if (&group == &breakdown.front()) {
      put_group(json["total"], group);
    } else {
      Json stage = Json::object();
      stage["name"] = group.name;
      put_group(stage, group);
      stages.push_back(std::move(stage));
    }
  }
  json["stages"] = std::move(stages);
  return json;
}

Json json_of(const std::vector<PeakMemory>& peaks) {
  Json json = Json::object();
  std::uint64_t most = 0;
  Json stages = Json::list();
  for (const PeakMemory& peak : peaks) {
    Json stage = Json::object();
    visit_peak(peak, [&](const char* key, const auto& member) { stage[key] = member; });
    Json parts = Json::object();
    for (const auto& [part, bytes] : peak.parts) {
      parts[part] = bytes;
    }
    stage["parts"] = std::move(parts);
    stages.push_back(std::move(stage));
    most = std::max(most, peak.bytes);
  }
  json["bytes"] = most;
  json["stages"] = std::move(stages);
  return json;
}

Json json_of(const Quantiles& quantiles) {
  Json json = Json::object();
  visit_quantiles(quantiles, [&](const char* key, std::uint64_t value) { json[key] = value; });
  return json;
}

Json json_of(const std::vector<ServiceWindow>& windows) {
  Json list = Json::list();
  for (const ServiceWindow& window : windows) {
    Json json = Json::object();
    visit_window(window, [&](const char* key, const auto& member) { json[key] = json_of(member); });
    list.push_back(std::move(json));
  }
  return list;
}

Json json_of(const std::vector<Service>& services) {
  Json list = Json::list();
  for (const Service& service : services) {
    Json json = Json::object();
    visit_service(service,
                  [&](const char* key, const auto& member) { json[key] = json_of(member); });
    list.push_back(std::move(json));
  }
  return list;
}

Json json_of(const std::vector<Measured>& measured) {
  Json list = Json::list();
  for (const Measured& of_job : measured) {
    Json json = Json::object();
    json["tenant"] = of_job.tenant;
    for (const Measure& measure : of_job.measures) {
      json[measure.name] = std::visit([](auto value) { return Json(value); }, measure.value);
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json json_of(const std::vector<TenantResult>& tenants) {
  Json list = Json::list();
  for (const TenantResult& tenant : tenants) {
    Json json = Json::object();
    visit_tenant(tenant, [&](const char* key, const auto& member) { json[key] = member; });
    list.push_back(std::move(json));
  }
  return list;
}

Json json_of(const std::vector<SegmentCost>& segments) {
  Json list = Json::list();
  for (const SegmentCost& segment : segments) {
    Json json = Json::object();
    visit_cost(segment, [&](const char* key, const auto& member) { json[key] = member; });
    list.push_back(std::move(json));
  }
  return list;
}

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
        read(number, spot.inner(name),
             of_job.measures.emplace_back(name, std::uint64_t{0}).value.emplace<std::uint64_t>());
      } else if (number.is_number()) {
        read(number, spot.inner(name),
             of_job.measures.emplace_back(name, 0.0).value.emplace<double>());
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

std::string to_json(const Summary& summary) {
  Json json{{"file_type", summary_file_type}, {"format_version", format_version}};
  visit_members(summary, [&](const char* key, const auto& member) {
    if constexpr (std::is_same_v<decltype(member), const std::vector<PeakMemory>&>) {
      if (member.empty()) {
        json[key] = Json();  // not known: no zero
        return;
      }
    }
    json[key] = json_of(member);
  });
  visit_versions(summary,
                 [&](const char* key, const auto& member) { json["versions"][key] = member; });
  return json.text(2) + "\n";
}

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
