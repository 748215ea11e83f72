// summary.json, written.
#include <optional>
#include <type_traits>

#include "breakdown_sum.hpp"
#include "schema.hpp"
#include "store/segment_json.hpp"
#include "summary/members.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::trace {
namespace {

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

}  // namespace tessera::trace
