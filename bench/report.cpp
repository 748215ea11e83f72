#include "report.hpp"

#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <variant>

#include "tessera/core/text.hpp"

namespace tessera::bench {
namespace {

using Json = nlohmann::ordered_json;

double quotient(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

double rate(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

// Reference over Tessera: how many times as much processor time an event costs there.
double ratio(const Report& report) {
  return rate(report.run.events, report.run.cpu_s) /
         rate(report.reference->events, report.reference->cpu_s);
}

Json json_of(const Fields& fields) {
  Json out = Json::object();
  for (const Field& field : fields) {
    std::visit([&](const auto& value) { out[field.name] = value; }, field.value);
  }
  return out;
}

Json json_of(const Measurement& run) {
  Json out;
  out["engine"] = run.engine;
  out["ranks"] = run.ranks;
  out["lps"] = run.lps;
  out["events"] = run.events;
  if (run.hops) {
    out["hops"] = *run.hops;
  }
  out["simulated_ps"] = run.simulated.ps();
  out["cpu_s"] = run.cpu_s;
  out["cpu_median_s"] = run.cpu_median_s;
  out["wall_s"] = run.wall_s;
  out["events_per_cpu_s"] = rate(run.events, run.cpu_s);
  out["events_per_wall_s"] = rate(run.events, run.wall_s);
  out["bytes_per_lp"] = quotient(run.process_bytes, run.lps);
  out["bytes_per_pending_event"] = quotient(run.event_bytes, run.largest_pending);
  out["model_bytes_per_lp"] = quotient(run.model_bytes, run.lps);
  out["largest_pending"] = run.largest_pending;
  out["peak_rss_bytes"] = run.peak_memory;
  out["windows"] = run.windows;
  out["rounds"] = run.rounds;
  out["reductions"] = run.reductions;
  out["events_per_window"] = quotient(run.events, run.windows);
  out["remote_messages"] = run.remote_messages;
  out["waiting_s"] = run.waiting_s;
  if (run.digest != Digest()) {
    out["digest"] = run.digest.to_string();
  }
  return out;
}

// Four significant digits of a fraction; whole numbers as they are.
std::string cell(const Json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  if (!value.is_number_float()) {
    return value.dump();
  }
  const auto number = value.get<double>();
  if (number >= 10'000) {
    return std::to_string(static_cast<std::uint64_t>(number + 0.5));
  }
  std::array<char, 32> digits{};
  const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), number,
                                  std::chars_format::general, 4);
  return {digits.data(), done.ptr};
}

}  // namespace

bool identical(const Report& report) {
  return !report.reference || same_results(report.run, *report.reference);
}

std::string as_table(const Report& report) {
  std::vector<std::string> words{report.name};
  const Json parameters = json_of(report.parameters);
  for (const auto& [name, value] : parameters.items()) {
    words.push_back(name + "=" + cell(value));
  }
  const Json run = report.fields.empty() ? json_of(report.run) : json_of(report.fields);
  TextTable table(report.reference ? std::vector<std::string>{"", "run", "reference"}
                                   : std::vector<std::string>{"", "run"});
  const Json reference = report.reference ? json_of(*report.reference) : Json::object();
  for (const auto& [name, value] : run.items()) {
    std::vector<std::string> row{name, cell(value)};
    if (report.reference) {
      row.push_back(reference.contains(name) ? cell(reference[name]) : "");
    }
    table.add(std::move(row));
  }
  std::string text = join(words, " ") + "\n" + table.to_string();
  if (report.reference) {
    text += "ratio of events per CPU second: " + cell(ratio(report)) + "; results are " +
            (identical(report) ? "identical" : "DIFFERENT") + "\n";
  }
  return text;
}

std::string as_json(const Report& report) {
  Json out;
  out["case"] = report.name;
  out["parameters"] = json_of(report.parameters);
  out.update(report.fields.empty() ? json_of(report.run) : json_of(report.fields));
  if (report.reference) {
    out["reference"] = json_of(*report.reference);
    out["ratio"] = ratio(report);
    out["identical"] = identical(report);
  }
  return out.dump(2) + "\n";
}

}  // namespace tessera::bench
