#include "tessera/trace/scaling_report.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <iterator>

#include "digits.hpp"
#include "schema.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::trace {
namespace {

constexpr const char* scaling_file_type = "tessera-scaling";

constexpr double event_bytes = 48;   // of an event under way
constexpr double entry_bytes = 16;   // of the reduction
constexpr double other_entries = 6;  // counters beside one entry a rank

// A reduction of n bytes by reduce-scatter and all-gather moves each of them twice (Thakur,
// Rabenseifner and Gropp, IJHPCA 19(1), 2005, doi:10.1177/1094342005051521).
double reduction_s(const ScalingCosts& costs, int ranks) {
  if (ranks == 1) {
    return 0;
  }
  const auto steps = static_cast<int>(std::bit_width(static_cast<unsigned>(ranks - 1)));
  const double entries = ranks + other_entries;
  return costs.reduction_s + costs.reduction_step_s * steps +
         entries * (costs.reduction_entry_s + 2 * entry_bytes / costs.bandwidth);
}

double as_double(std::uint64_t value) {
  return static_cast<double>(value);
}

std::string percent(double part, double whole) {
  std::array<char, 400> buffer{};
  const auto result =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(),
                    whole > 0 ? 100 * part / whole : 0, std::chars_format::fixed, 0);
  return std::string(buffer.data(), result.ptr) + " %";
}

// Where the wall time goes.
struct Parts {
  double work_s = 0;
  double waiting_s = 0;
  double reductions_s = 0;
  double messages_s = 0;
  double sum() const { return work_s + waiting_s + reductions_s + messages_s; }
};

double mean_work_s(const ScalingCosts& costs, const ScalingCounts& counts) {
  return as_double(counts.events) / counts.ranks * costs.event_s;
}

Parts parts_by_rounds(const ScalingCosts& costs, const ScalingCounts& counts) {
  Parts parts;
  parts.work_s = mean_work_s(costs, counts);
  parts.waiting_s = as_double(counts.path_events) * costs.event_s - parts.work_s;
  parts.reductions_s = as_double(counts.rounds) * reduction_s(costs, counts.ranks);
  parts.messages_s = as_double(counts.path_batches) * costs.message_latency_s +
                     as_double(counts.path_remote_events) * crossing_s(costs);
  return parts;
}

// Messages under way are waited for; what is left for messages is processor time.
Parts parts_by_promises(const ScalingCosts& costs, const ScalingCounts& counts) {
  Parts parts;
  parts.work_s = mean_work_s(costs, counts);
  parts.messages_s = counts.promised.path_messages * costs.event_s;
  parts.waiting_s = counts.promised.path * costs.event_s - parts.work_s - parts.messages_s;
  return parts;
}

const char* limit_of(const ScalingPrediction& row, bool by_rounds) {
  const double largest = std::max({row.work_s, row.waiting_s, row.reductions_s, row.messages_s});
  return largest == row.work_s         ? "events"
         : largest == row.waiting_s    ? (by_rounds ? "slowest region" : "waiting")
         : largest == row.reductions_s ? "reductions"
                                       : "messages";
}

// Which cut a row is of; one rank is the same under any.
std::vector<std::string> cut_of(const ScalingPrediction& row) {
  return {row.ranks == 1 ? "" : row.partition, std::to_string(row.ranks)};
}

void add_row(TextTable& table, const ScalingPrediction& row, const std::vector<std::string>& more) {
  std::vector<std::string> words = cut_of(row);
  words.insert(words.end(), more.begin(), more.end());
  table.add(words);
}

std::string speed_table(const ScalingReport& report) {
  TextTable table({"partition", "ranks", "at work", "wall [s]", "speed-up", "efficiency",
                   "by rounds", "by promises", "bound", "waits", "waits at best", "events across",
                   "imbalance", "memory a rank"});
  for (const ScalingPrediction& row : report.predictions) {
    const ScalingCounts& counts = row.counts;
    add_row(
        table, row,
        {std::to_string(counts.ranks), digits(row.wall_s), digits(row.speed_up),
         percent(row.efficiency(), 1), digits(row.rounds_speed_up), digits(row.promises_speed_up),
         digits(row.bound), std::to_string(counts.promised.waits),
         std::to_string(counts.perfect.waits), std::to_string(counts.remote_events),
         digits(row.imbalance), std::to_string(row.largest_bytes >> 20) + " MiB"});
  }
  return table.to_string();
}

std::string parts_table(const ScalingReport& report) {
  TextTable table({"partition", "ranks", "events", report.by_rounds ? "slowest region" : "waiting",
                   "reductions", "messages", "limit"});
  for (const ScalingPrediction& row : report.predictions) {
    add_row(table, row,
            {percent(row.work_s, row.wall_s), percent(row.waiting_s, row.wall_s),
             percent(row.reductions_s, row.wall_s), percent(row.messages_s, row.wall_s),
             limit_of(row, report.by_rounds)});
  }
  return table.to_string();
}

// A cost as it is shown: times `times`, over `over`.
struct CostRow {
  std::string_view name;
  double ScalingCosts::*member;
  double times;
  double over;
  const char* unit;
};

constexpr std::array cost_rows{
    CostRow{"event_s", &ScalingCosts::event_s, 1e9, 1, " ns"},
    CostRow{"remote_event_s", &ScalingCosts::remote_event_s, 1e9, 1, " ns"},
    CostRow{"message_latency_s", &ScalingCosts::message_latency_s, 1e6, 1, " us"},
    CostRow{"bandwidth", &ScalingCosts::bandwidth, 1, 1e9, " GB/s"},
    CostRow{"reduction_s", &ScalingCosts::reduction_s, 1e6, 1, " us"},
    CostRow{"reduction_step_s", &ScalingCosts::reduction_step_s, 1e6, 1, " us"},
    CostRow{"promise_s", &ScalingCosts::promise_s, 1e9, 1, " ns"},
    CostRow{"wait_messages", &ScalingCosts::wait_messages, 1, 1, ""},
    CostRow{"exchange_events", &ScalingCosts::exchange_events, 1, 1, ""},
    CostRow{"reduction_entry_s", &ScalingCosts::reduction_entry_s, 1e9, 1, " ns"}};

std::string cost_of(const ScalingCosts& costs, const std::string& name) {
  const auto* const row = std::find_if(cost_rows.begin(), std::prev(cost_rows.end()),
                                       [&](const CostRow& one) { return one.name == name; });
  return digits(costs.*row->member * row->times / row->over, 4) + row->unit;
}

std::string costs_table(const ScalingCosts& costs) {
  TextTable table({"cost", "value", "source"});
  for (const auto& [name, source] : costs.sources) {
    table.add({name, cost_of(costs, name), source});
  }
  return table.to_string();
}

Json clock_json(const ScalingClock& clock) {
  return {{"path_events", clock.path},
          {"path_messages_events", clock.path_messages},
          {"waits", clock.waits},
          {"all_waits", clock.all_waits}};
}

Json promised_json(const ScalingClock& clock) {
  Json json = clock_json(clock);
  json["exchanges"] = clock.exchanges;
  return json;
}

}  // namespace

double crossing_s(const ScalingCosts& costs) {
  return event_bytes / costs.bandwidth + costs.remote_event_s;
}

void predict_times(ScalingReport& report) {
  ensure(!report.predictions.empty() && report.predictions.front().counts.ranks == 1,
         "a prediction of scaling begins with one rank");
  const ScalingCosts& costs = report.costs;
  const double alone = as_double(report.predictions.front().counts.events) * costs.event_s;
  const auto over = [&](double wall_s) { return wall_s > 0 ? alone / wall_s : 1; };
  for (ScalingPrediction& row : report.predictions) {
    const ScalingCounts& counts = row.counts;
    const Parts rounds = parts_by_rounds(costs, counts);
    const Parts promises = parts_by_promises(costs, counts);
    const Parts& parts = report.by_rounds ? rounds : promises;
    row.work_s = parts.work_s;
    row.waiting_s = parts.waiting_s;
    row.reductions_s = parts.reductions_s;
    row.messages_s = parts.messages_s;
    row.wall_s = parts.sum();
    row.imbalance = counts.events == 0 ? 1
                                       : as_double(counts.largest_events) * counts.ranks /
                                             as_double(counts.events);
    row.speed_up = over(row.wall_s);
    row.rounds_speed_up = over(rounds.sum());
    row.promises_speed_up = over(promises.sum());
    row.bound = over(counts.perfect.path * costs.event_s);
  }
}

bool begins_as_scaling_report(std::string_view text) {
  return text.starts_with("{\n  \"file_type\": \"" + std::string(scaling_file_type) + '"');
}

std::string to_json(const ScalingReport& report) {
  Json json{{"file_type", scaling_file_type},
            {"format_version", format_version},
            {"experiment", report.experiment},
            {"machine", report.machine},
            {"workload", report.workload},
            {"partition", report.partition},
            {"weights", report.weights},
            {"synchronization", report.synchronization},
            {"by_rounds", report.by_rounds},
            {"nodes", report.nodes},
            {"simulated_time_ps", report.simulated_time_ps},
            {"measured_wall_s", report.measured_wall_s},
            {"observer_factor", report.observer_factor},
            {"clock_event_s", report.clock_event_s}};
  const ScalingCosts& costs = report.costs;
  json["costs"] = {{"event_s", costs.event_s},
                   {"remote_event_s", costs.remote_event_s},
                   {"message_latency_s", costs.message_latency_s},
                   {"bandwidth_bytes_per_s", costs.bandwidth},
                   {"reduction_s", costs.reduction_s},
                   {"reduction_step_s", costs.reduction_step_s},
                   {"reduction_entry_s", costs.reduction_entry_s},
                   {"promise_s", costs.promise_s},
                   {"wait_messages", costs.wait_messages},
                   {"exchange_events", costs.exchange_events}};
  for (const auto& [name, source] : costs.sources) {
    json["costs"]["sources"][name] = source;
  }
  json["predictions"] = Json::list();
  for (const ScalingPrediction& row : report.predictions) {
    const ScalingCounts& counts = row.counts;
    json["predictions"].push_back({{"partition", row.partition},
                                   {"ranks", row.ranks},
                                   {"ranks_at_work", counts.ranks},
                                   {"wall_s", row.wall_s},
                                   {"speed_up", row.speed_up},
                                   {"efficiency", row.efficiency()},
                                   {"rounds_speed_up", row.rounds_speed_up},
                                   {"promises_speed_up", row.promises_speed_up},
                                   {"bound", row.bound},
                                   {"work_s", row.work_s},
                                   {"waiting_s", row.waiting_s},
                                   {"reductions_s", row.reductions_s},
                                   {"messages_s", row.messages_s},
                                   {"limit", limit_of(row, report.by_rounds)},
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
                                   {"path_batches", counts.path_batches},
                                   {"perfect", clock_json(counts.perfect)},
                                   {"promised", promised_json(counts.promised)}});
  }
  json["notes"] = report.notes;
  json["versions"] = {{"tessera", report.version}, {"git", report.git_hash}};
  return json.text(2) + "\n";
}

std::string to_table(const ScalingReport& report) {
  std::string text = "synchronization " + report.synchronization + ", partition " +
                     report.partition + "\n" + speed_table(report) + "\nwhere the time goes\n" +
                     parts_table(report) + "\ncosts\n" + costs_table(report.costs);
  for (const std::string& note : report.notes) {
    text += "note: " + note + "\n";
  }
  return text;
}

}  // namespace tessera::trace
