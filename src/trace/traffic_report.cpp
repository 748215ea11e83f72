#include "tessera/trace/traffic_report.hpp"

#include <array>
#include <charconv>

#include "digits.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::trace {
namespace {

constexpr const char* traffic_file_type = "tessera-traffic";
constexpr const char* csv_head =
    "rate,status,latency,latency_least,latency_most,sent_rate,accepted_rate,measured,cycles,hops,"
    "events,cpu_s\n";

}  // namespace

std::string to_table(const TrafficReport& report) {
  std::string text = report.pattern + ", " + report.process + ", messages of " +
                     std::to_string(report.message_flits) + " flits of " +
                     std::to_string(report.flit_bytes) + " B, " + std::to_string(report.nodes) +
                     " nodes of " + report.machine + ", network " + report.network +
                     "; rates in flits a node and cycle, latencies in cycles of " +
                     std::to_string(report.cycle_ps) + " ps\n";
  TextTable table({"rate", "status", "latency", "least", "most", "sent", "accepted", "messages",
                   "cycles", "M hops/cpu s"});
  for (const TrafficPoint& point : report.points) {
    const double speed = point.cpu_s > 0 ? static_cast<double>(point.hops) / point.cpu_s / 1e6 : 0;
    table.add({digits(point.rate, 6), point.status, digits(point.latency, 6),
               digits(point.latency_least, 6), digits(point.latency_most, 6),
               digits(point.sent_rate, 6), digits(point.accepted_rate, 6),
               std::to_string(point.measured), std::to_string(point.cycles), digits(speed, 3)});
  }
  text += table.to_string();
  for (const std::string& note : report.notes) {
    text += "note: " + note + "\n";
  }
  return text;
}

std::string to_csv(const TrafficReport& report) {
  std::string text = csv_head;
  for (const TrafficPoint& point : report.points) {
    const std::vector<std::string> cells{
        format_number(point.rate),          point.status,
        format_number(point.latency),       format_number(point.latency_least),
        format_number(point.latency_most),  format_number(point.sent_rate),
        format_number(point.accepted_rate), std::to_string(point.measured),
        std::to_string(point.cycles),       std::to_string(point.hops),
        std::to_string(point.events),       format_number(point.cpu_s)};
    text += join(cells, ",") + "\n";
  }
  return text;
}

std::string to_json(const TrafficReport& report) {
  Json json;
  json["file_type"] = traffic_file_type;
  json["machine"] = report.machine;
  json["network"] = report.network;
  json["pattern"] = report.pattern;
  json["process"] = report.process;
  json["nodes"] = report.nodes;
  json["message_flits"] = report.message_flits;
  json["flit_bytes"] = report.flit_bytes;
  json["cycle_ps"] = report.cycle_ps;
  json["seed"] = report.seed;
  json["ranks"] = report.ranks;
  json["network_bytes"] = report.network_bytes;
  json["points"] = Json::list();
  for (const TrafficPoint& point : report.points) {
    json["points"].push_back({{"rate", point.rate},
                              {"status", point.status},
                              {"latency", point.latency},
                              {"latency_least", point.latency_least},
                              {"latency_most", point.latency_most},
                              {"sent_rate", point.sent_rate},
                              {"accepted_rate", point.accepted_rate},
                              {"measured", point.measured},
                              {"cycles", point.cycles},
                              {"hops", point.hops},
                              {"events", point.events},
                              {"cpu_s", point.cpu_s}});
  }
  json["notes"] = Json::list();
  for (const std::string& note : report.notes) {
    json["notes"].push_back(note);
  }
  return json.text(2) + "\n";
}

bool begins_as_traffic_report(std::string_view beginning) {
  return beginning.starts_with("rate,status,latency") ||
         beginning.find(traffic_file_type) != std::string_view::npos;
}

}  // namespace tessera::trace
