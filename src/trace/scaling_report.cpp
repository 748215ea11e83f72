#include "tessera/trace/scaling_report.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>

#include "schema.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"

namespace tessera::trace {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* file_type = "tessera-scaling";

constexpr double event_bytes = 48;   // of an event under way
constexpr double entry_bytes = 16;   // of the reduction
constexpr double other_entries = 6;  // counters beside one entry a rank

// A reduction of n bytes by reduce-scatter and all-gather moves each of them twice (Thakur,
// Rabenseifner and Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521).
double reduction_s(const ScalingCosts& costs, int ranks) {
  if (ranks == 1) {
    return 0;
  }
  const int steps = std::bit_width(static_cast<unsigned>(ranks - 1));
  const double entries = ranks + other_entries;
  return costs.reduction_s + costs.reduction_step_s * steps +
         entries * (costs.reduction_entry_s + 2 * entry_bytes / costs.bandwidth);
}

double as_double(std::uint64_t value) {
  return static_cast<double>(value);
}

std::string digits(double value, int precision = 3) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::general, precision);
  return std::string(buffer.data(), result.ptr);
}

std::string percent(double part, double whole) {
  std::array<char, 400> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                    whole > 0 ? 100 * part / whole : 0, std::chars_format::fixed, 0);
  return std::string(buffer.data(), result.ptr) + " %";
}

const char* limit_of(const ScalingPrediction& row) {
  const double largest = std::max({row.work_s, row.waiting_s, row.reductions_s, row.messages_s});
  return largest == row.work_s         ? "events"
         : largest == row.waiting_s    ? "slowest region"
         : largest == row.reductions_s ? "reductions"
                                       : "messages";
}

}  // namespace

void predict_times(ScalingReport& report) {
  ensure(!report.predictions.empty() && report.predictions.front().counts.ranks == 1,
         "a prediction of scaling begins with one rank");
  const ScalingCosts& costs = report.costs;
  for (ScalingPrediction& row : report.predictions) {
    const ScalingCounts& counts = row.counts;
    row.work_s = as_double(counts.events) / counts.ranks * costs.event_s;
    row.waiting_s = as_double(counts.path_events) * costs.event_s - row.work_s;
    row.reductions_s = as_double(counts.rounds) * reduction_s(costs, counts.ranks);
    row.messages_s = as_double(counts.path_batches) * costs.message_latency_s +
                     as_double(counts.path_remote_events) *
                         (event_bytes / costs.bandwidth + costs.remote_event_s);
    row.wall_s = row.work_s + row.waiting_s + row.reductions_s + row.messages_s;
    row.imbalance = counts.events == 0 ? 1
                                       : as_double(counts.largest_events) * counts.ranks /
                                             as_double(counts.events);
    row.speed_up = row.wall_s > 0 ? report.predictions.front().wall_s / row.wall_s : 1;
  }
}

bool begins_as_scaling_report(std::string_view text) {
  return text.starts_with("{\n  \"file_type\": \"" + std::string(file_type) + '"');
}

std::string to_json(const ScalingReport& report) {
  Json json{{"file_type", file_type},
            {"format_version", format_version},
            {"experiment", report.experiment},
            {"machine", report.machine},
            {"workload", report.workload},
            {"partition", report.partition},
            {"weights", report.weights},
            {"nodes", report.nodes},
            {"simulated_time_ps", report.simulated_time_ps},
            {"measured_wall_s", report.measured_wall_s},
            {"observer_factor", report.observer_factor}};
  const ScalingCosts& costs = report.costs;
  json["costs"] = {{"event_s", costs.event_s},
                   {"remote_event_s", costs.remote_event_s},
                   {"message_latency_s", costs.message_latency_s},
                   {"bandwidth_bytes_per_s", costs.bandwidth},
                   {"reduction_s", costs.reduction_s},
                   {"reduction_step_s", costs.reduction_step_s},
                   {"reduction_entry_s", costs.reduction_entry_s}};
  for (const auto& [name, source] : costs.sources) {
    json["costs"]["sources"][name] = source;
  }
  json["predictions"] = Json::array();
  for (const ScalingPrediction& row : report.predictions) {
    const ScalingCounts& counts = row.counts;
    json["predictions"].push_back({{"ranks", counts.ranks},
                                   {"wall_s", row.wall_s},
                                   {"speed_up", row.speed_up},
                                   {"efficiency", row.efficiency()},
                                   {"work_s", row.work_s},
                                   {"waiting_s", row.waiting_s},
                                   {"reductions_s", row.reductions_s},
                                   {"messages_s", row.messages_s},
                                   {"limit", limit_of(row)},
                                   {"imbalance", row.imbalance},
                                   {"largest_bytes", row.largest_bytes},
                                   {"cut_links", row.cut_links},
                                   {"events", counts.events},
                                   {"largest_events", counts.largest_events},
                                   {"windows", counts.windows},
                                   {"rounds", counts.rounds},
                                   {"remote_events", counts.remote_events},
                                   {"batches", counts.batches},
                                   {"path_events", counts.path_events},
                                   {"path_remote_events", counts.path_remote_events},
                                   {"path_batches", counts.path_batches}});
  }
  json["versions"] = {{"tessera", report.version}, {"git", report.git_hash}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string to_table(const ScalingReport& report) {
  TextTable table({"ranks", "wall [s]", "speed-up", "efficiency", "events", "slowest region",
                   "reductions", "messages", "imbalance", "memory a rank", "limit"});
  for (const ScalingPrediction& row : report.predictions) {
    table.add({std::to_string(row.counts.ranks), digits(row.wall_s), digits(row.speed_up),
               percent(row.efficiency(), 1), percent(row.work_s, row.wall_s),
               percent(row.waiting_s, row.wall_s), percent(row.reductions_s, row.wall_s),
               percent(row.messages_s, row.wall_s), digits(row.imbalance),
               std::to_string(row.largest_bytes >> 20) + " MiB", limit_of(row)});
  }
  const ScalingCosts& costs = report.costs;
  std::string text = table.to_string() + "\ncosts\n";
  TextTable list({"cost", "value", "source"});
  const auto value_of = [&](const std::string& name) {
    return name == "event_s"             ? digits(costs.event_s * 1e9, 4) + " ns"
           : name == "remote_event_s"    ? digits(costs.remote_event_s * 1e9, 4) + " ns"
           : name == "message_latency_s" ? digits(costs.message_latency_s * 1e6, 4) + " us"
           : name == "bandwidth"         ? digits(costs.bandwidth / 1e9, 4) + " GB/s"
           : name == "reduction_s"       ? digits(costs.reduction_s * 1e6, 4) + " us"
           : name == "reduction_step_s"  ? digits(costs.reduction_step_s * 1e6, 4) + " us"
                                         : digits(costs.reduction_entry_s * 1e9, 4) + " ns";
  };
  for (const auto& [name, source] : costs.sources) {
    list.add({name, value_of(name), source});
  }
  return text + list.to_string();
}

}  // namespace tessera::trace
