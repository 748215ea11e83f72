// The summary as text for a terminal.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "breakdown_sum.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/time.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::trace {
namespace {

constexpr std::size_t label_width = 16;
constexpr std::size_t most_stages = 12;
constexpr std::size_t stages_at_each_end = 5;
constexpr std::size_t most_services = 64;
constexpr std::size_t services_at_each_end = 8;

template <class... Format>
std::string formatted(double value, Format... format) {
  // Enough for the largest double without an exponent.
  std::array<char, 400> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format...);
  return std::string(buffer.data(), result.ptr);
}

// Four digits with a decimal prefix: "1.235 TFLOP/s". What is exact is in the file.
std::string rounded(double value, const std::string& unit) {
  struct Prefix {
    double scale;
    const char* letter;
  };
  constexpr std::array<Prefix, 7> prefixes{
      {{1e21, "Z"}, {1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  // What four digits round up to a thousand gets the next prefix.
  const auto prefix = std::find_if(prefixes.begin(), prefixes.end(), [value](const Prefix& each) {
    return value >= 0.99995 * each.scale;
  });
  const bool plain = prefix == prefixes.end();
  return formatted(plain ? value : value / prefix->scale, std::chars_format::general, 4) + " " +
         (plain ? "" : prefix->letter) + unit;
}

std::string seconds(double value) {
  return formatted(value, std::chars_format::fixed, 3) + " s";
}

std::string tenths_of_percent(double part, double whole) {
  return whole > 0 ? formatted(100 * part / whole, std::chars_format::fixed, 1) : "-";
}

// " (12.3 % of WHAT)", or nothing when there is no whole.
std::string share_of(double part, double whole, const std::string& what) {
  return whole > 0 ? " (" + tenths_of_percent(part, whole) + " % of " + what + ")" : "";
}

std::string time_text(std::int64_t ps) {
  return to_string(SimTime::from_ps(ps));
}

// Labels in one column and values in another; further lines of a value stand below its first.
class Listing {
 public:
  void add(std::string label, const std::string& value) {
    label.resize(std::max(label.size() + 2, label_width), ' ');
    text_ += label;
    for (const char c : value) {
      text_ += c;
      if (c == '\n') {
        text_.append(label_width, ' ');
      }
    }
    text_ += '\n';
  }
  void add_if_known(const char* label, const std::string& value) {
    if (!value.empty()) {
      add(label, value);
    }
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::string memory_text(const Summary& summary) {
  const auto& peaks = summary.peak_rss_bytes;
  std::string text;
  if (!peaks.empty()) {
    text = rounded(static_cast<double>(*std::max_element(peaks.begin(), peaks.end())), "B") +
           " of the largest rank, ";
  }
  return text + rounded(static_cast<double>(summary.predicted_bytes), "B") + " predicted";
}

// Heaviest over mean, by weight and by the events that were; and what crosses ranks.
std::string balance_text(const Summary& summary) {
  std::string text = formatted(summary.imbalance, std::chars_format::general, 4) + " by weight (" +
                     summary.weights + "), ";
  double sum = 0;
  std::uint64_t most = 0;
  for (const std::uint64_t events : summary.rank_events) {
    sum += static_cast<double>(events);
    most = std::max(most, events);
  }
  if (sum > 0) {
    const double mean = sum / static_cast<double>(summary.rank_events.size());
    text +=
        formatted(static_cast<double>(most) / mean, std::chars_format::general, 4) + " by events, ";
  }
  return text + std::to_string(summary.cut_links) + " links cut" +
         share_of(static_cast<double>(summary.cut_links), static_cast<double>(summary.links),
                  "all");
}

// "at 1.2 ms, 3.4 ms": where it was taken up again.
std::string resumes_text(const Summary& summary) {
  std::string text = "at ";
  for (std::size_t segment = 1; segment < summary.segments.size(); ++segment) {
    text += (segment > 1 ? ", " : "") + time_text(summary.segments[segment].begin_ps);
  }
  return text;
}

void add_iteration(const Summary& summary, Listing& list) {
  if (summary.iteration_time_ps == 0 && summary.status != "finished") {
    list.add("iteration time", "not known: the run has not ended");
    return;
  }
  list.add("iteration time", time_text(summary.iteration_time_ps) + ", " +
                                 std::to_string(summary.iterations) +
                                 (summary.iterations == 1 ? " iteration" : " iterations"));
  if (summary.ideal_time_ps > 0) {  // else not known
    list.add("ideal time",
             time_text(summary.ideal_time_ps) +
                 share_of(static_cast<double>(summary.ideal_time_ps),
                          static_cast<double>(summary.iteration_time_ps), "the iteration time"));
  }
  list.add("throughput", rounded(summary.throughput_samples_per_s, "samples/s"));
  if (summary.steady_throughput_samples_per_s > 0) {
    list.add("  without set-up and drain",
             rounded(summary.steady_throughput_samples_per_s, "samples/s"));
  }
  list.add("achieved", rounded(summary.achieved_flops_per_s, "FLOP/s") +
                           share_of(summary.achieved_flops_per_s, summary.peak_flops_per_s,
                                    "the peak of " + rounded(summary.peak_flops_per_s, "FLOP/s")));
}

// Of the stage that holds most: "71.2 GB in stage 0 (backward of micro-batch 3)".
std::string peak_text(const Summary& summary) {
  const auto most =
      std::max_element(summary.peak_memory.begin(), summary.peak_memory.end(),
                       [](const PeakMemory& a, const PeakMemory& b) { return a.bytes < b.bytes; });
  if (most == summary.peak_memory.end() || most->bytes == 0) {
    return "";
  }
  const std::string bytes = rounded(static_cast<double>(most->bytes), "B");
  return most->phase.empty() ? bytes + " on an NPU of " + most->name
                             : bytes + " in " + most->name + " (" + most->phase +
                                   " of micro-batch " + std::to_string(most->micro_batch) + ")";
}

// Of a note that a key of the machine has no effect: its section and its name; else empty.
std::pair<std::string, std::string> idle_key_of(const std::string& note) {
  const std::string key = note.substr(0, note.find(' '));
  const std::size_t dot = key.rfind('.');
  return key.starts_with("machine.") && note.substr(key.size()).starts_with(" has no effect with ")
             ? std::pair(key.substr(0, dot), key.substr(dot + 1))
             : std::pair<std::string, std::string>();
}

std::string listing(const Summary& summary) {
  Listing list;
  list.add("status",
           summary.message.empty() ? summary.status : summary.status + ": " + summary.message);
  list.add_if_known("experiment", summary.experiment);
  list.add_if_known("machine", summary.machine);
  list.add_if_known("workload", summary.workload);
  list.add("simulated time", time_text(summary.simulated_time_ps));
  if (summary.services.empty()) {
    add_iteration(summary, list);
  }
  list.add("tiles", std::to_string(summary.tiles));
  list.add_if_known("peak memory", peak_text(summary));
  list.add("messages", std::to_string(summary.messages) + ", " +
                           std::to_string(summary.packet_hops) + " packet hops");
  list.add("events",
           std::to_string(summary.events) + ", " + rounded(summary.events_per_s, "events/s"));
  list.add("wall time", seconds(summary.wall_s) + ", processors " + seconds(summary.cpu_s) +
                            ", waiting " + seconds(summary.waiting_s) + " a rank");
  std::string ranks = std::to_string(summary.ranks);
  for (const std::string& detail :
       {summary.communicator, summary.partition, summary.synchronization}) {
    ranks += detail.empty() ? "" : ", " + detail;
  }
  list.add("ranks", ranks);
  if (summary.ranks > 1 && summary.links > 0) {
    list.add("balance", balance_text(summary));
  }
  if (summary.segments.size() > 1) {
    list.add("went on", resumes_text(summary));
  }
  list.add("memory", memory_text(summary));
  list.add_if_known("digest", summary.result_digest);
  for (const std::string& note : notes_for_people(summary.notes)) {
    list.add("note", note);
  }
  return list.text();
}

// Activities that take any time in a group, in the order they first appear.
std::vector<std::string> activities_of(const std::vector<Breakdown>& breakdown) {
  std::vector<std::string> activities;
  for (const Breakdown& group : breakdown) {
    for (const auto& [activity, mean_ps] : group.mean_ps) {
      if (mean_ps != 0 &&
          std::find(activities.begin(), activities.end(), activity) == activities.end()) {
        activities.push_back(activity);
      }
    }
  }
  return activities;
}

std::vector<std::string> row_of(const Breakdown& group,
                                const std::vector<std::string>& activities) {
  const double sum = sum_of(group);
  std::vector<std::string> row{group.name, std::to_string(group.tiles)};
  for (const std::string& activity : activities) {
    const auto found = std::find_if(group.mean_ps.begin(), group.mean_ps.end(),
                                    [&](const auto& part) { return part.first == activity; });
    row.push_back(found == group.mean_ps.end()
                      ? "-"
                      : tenths_of_percent(static_cast<double>(found->second), sum));
  }
  return row;
}

std::string breakdown_text(const std::vector<Breakdown>& breakdown) {
  const std::vector<std::string> activities = activities_of(breakdown);
  std::vector<std::string> head{"share of time", "tiles"};
  for (const std::string& activity : activities) {
    head.push_back(activity + " %");
  }
  TextTable table(std::move(head));
  const std::size_t stages = breakdown.size() - 1;
  for (std::size_t row = 0; row < breakdown.size(); ++row) {
    if (stages > most_stages && row == stages_at_each_end + 1) {
      table.add({"…"});
      row = breakdown.size() - stages_at_each_end;
    }
    table.add(row_of(breakdown[row], activities));
  }
  return table.to_string();
}

// "p50 / p95 / p99".
std::string quantiles_text(const Quantiles& quantiles) {
  if (quantiles.count == 0) {
    return "-";
  }
  const auto text = [](std::uint64_t ps) {
    const double value = static_cast<double>(ps) * 1e-12;
    return value >= 1      ? formatted(value, std::chars_format::general, 4) + " s"
           : value >= 1e-3 ? formatted(value * 1e3, std::chars_format::general, 4) + " ms"
                           : formatted(value * 1e6, std::chars_format::general, 4) + " us";
  };
  return text(quantiles.p50) + " / " + text(quantiles.p95) + " / " + text(quantiles.p99);
}

// Of a tenant who is served: that of the run, or of the tenant of many before the slash.
std::int64_t time_of(const Summary& summary, const Service& service) {
  const std::string owner = service.tenant.substr(0, service.tenant.find('/'));
  const auto found = std::find_if(summary.tenants.begin(), summary.tenants.end(),
                                  [&](const TenantResult& one) { return one.name == owner; });
  return found != summary.tenants.end() && found->iteration_time_ps > 0
             ? found->end_ps - found->start_ps
             : summary.simulated_time_ps;
}

// "97.3 %, 4.2 /s" of requests that met all targets.
std::string met_text(const Service& service) {
  if (service.served == 0) {
    return "-";
  }
  return tenths_of_percent(static_cast<double>(service.met), static_cast<double>(service.served)) +
         " %, " + rounded(service.met_per_s, "/s");
}

std::string services_text(const Summary& summary) {
  std::vector<Service> all = summary.services;
  for (const Service& total : summary.service_totals) {
    all.push_back(total);
    // Those of classes say which.
    all.back().tenant += total.tenant.ends_with("]") ? "" : " (all replicas)";
  }
  const bool has_price = std::any_of(all.begin(), all.end(), [](const Service& service) {
    return service.cost_a_million_tokens.has_value();
  });
  std::vector<std::string> head{"tenant",
                                "requests",
                                "throughput",
                                "first token p50/p95/p99",
                                "between tokens p50/p95/p99",
                                "a token p50/p95/p99",
                                "latency p50/p95/p99",
                                "late",
                                "met all targets"};
  // Some were not on all the time.
  const bool scales = std::any_of(all.begin(), all.end(), [&](const Service& service) {
    return service.on_s > 0 &&
           service.on_s < 0.9999e-12 * static_cast<double>(time_of(summary, service));
  });
  if (scales) {
    head.emplace_back("replicas on");
  }
  if (has_price) {
    head.emplace_back("a million tokens");
  }
  TextTable table(std::move(head));
  for (std::size_t number = 0; number < all.size(); ++number) {
    // Of very many replicas those at both ends; what is of all together is behind them.
    if (summary.services.size() > most_services && number == services_at_each_end) {
      table.add({"…"});
      number = summary.services.size() - services_at_each_end;
    }
    const Service& service = all[number];
    const double time_s = static_cast<double>(time_of(summary, service)) * 1e-12;
    const bool of_language = service.tokens > 0;
    const std::uint64_t things = of_language ? service.tokens : service.samples;
    const double rate = time_s > 0 ? static_cast<double>(things) / time_s : 0.0;
    std::vector<std::string> row{
        service.tenant,
        std::to_string(service.served),
        things == 0 ? "-" : rounded(rate, of_language ? "tokens/s" : "samples/s"),
        quantiles_text(service.first_token),
        quantiles_text(service.between_tokens),
        quantiles_text(service.a_token),
        quantiles_text(service.latency),
        std::to_string(service.late_requests) + " requests, " +
            std::to_string(service.late_tokens) + " tokens",
        met_text(service)};
    if (scales) {
      row.push_back(
          service.on_s > 0 ? formatted(service.on_s / time_s, std::chars_format::general, 4) : "-");
    }
    if (has_price) {
      const std::optional<double>& cost = service.cost_a_million_tokens;
      row.push_back(cost ? formatted(*cost, std::chars_format::general, 4) : "-");
    }
    table.add(std::move(row));
  }
  return table.to_string();
}

// "latency_mean_ps" and its number as "latency mean" and a time, "sent_bytes" as "sent bytes" and
// its number with a prefix.
std::pair<std::string, std::string> measure_text(const Measure& measure) {
  constexpr std::string_view time_unit = "_ps";
  std::string name = measure.name;
  std::string value;
  const auto* const whole = std::get_if<std::uint64_t>(&measure.value);
  if (whole == nullptr) {
    value = formatted(std::get<double>(measure.value), std::chars_format::general, 4);
  } else if (name.ends_with(time_unit)) {
    name.resize(name.size() - time_unit.size());
    value = time_text(static_cast<std::int64_t>(*whole));
  } else if (name.ends_with("_bytes")) {
    value = rounded(static_cast<double>(*whole), "B");
  } else {
    value = std::to_string(*whole);
  }
  std::replace(name.begin(), name.end(), '_', ' ');
  return {std::move(name), std::move(value)};
}

// A column for each job, a row for each measure; jobs that do not have it have a dash.
std::string measured_text(const std::vector<Measured>& measured) {
  std::vector<std::string> head{"measured"};
  std::vector<std::vector<std::string>> rows;
  for (const Measured& of_job : measured) {
    for (const Measure& measure : of_job.measures) {
      const auto texts = measure_text(measure);
      auto row = std::find_if(rows.begin(), rows.end(),
                              [&](const auto& known) { return known.front() == texts.first; });
      if (row == rows.end()) {
        row = rows.insert(rows.end(), {texts.first});
      }
      row->resize(head.size(), "-");
      row->push_back(texts.second);
    }
    head.push_back(of_job.tenant);
  }
  TextTable table(head);
  for (std::vector<std::string>& row : rows) {
    row.resize(head.size(), "-");
    table.add(std::move(row));
  }
  return table.to_string();
}

std::string tenants_text(const std::vector<TenantResult>& tenants) {
  TextTable table({"tenant", "workload", "tiles", "iterations", "start", "end", "iteration time",
                   "throughput", "achieved"});
  for (const TenantResult& tenant : tenants) {
    const bool is_over = tenant.iteration_time_ps > 0;
    const bool is_counted = tenant.achieved_flops_per_s > 0;  // not of requests
    table.add({tenant.name, tenant.workload, std::to_string(tenant.tiles),
               std::to_string(tenant.iterations), time_text(tenant.start_ps),
               is_over ? time_text(tenant.end_ps) : "-",
               is_over ? time_text(tenant.iteration_time_ps) : "-",
               is_over ? rounded(tenant.throughput_samples_per_s, "samples/s") : "-",
               is_counted ? rounded(tenant.achieved_flops_per_s, "FLOP/s") : "-"});
  }
  return table.to_string();
}

}  // namespace

std::vector<std::string> notes_for_people(const std::vector<std::string>& notes) {
  std::map<std::string, std::vector<std::string>> idle;  // by section
  for (const std::string& note : notes) {
    const auto [section, name] = idle_key_of(note);
    idle[section].push_back(name);
  }
  std::vector<std::string> told;
  for (const std::string& note : notes) {
    const std::string section = idle_key_of(note).first;
    std::vector<std::string>& names = idle[section];
    if (section.empty() || names.size() == 1) {
      told.push_back(note);
    } else if (!names.empty()) {
      told.push_back(section + ": " + join(names) +
                     " have no effect with this work (tessera check says why)");
      names.clear();
    }
  }
  return told;
}

std::string to_table(const Summary& summary) {
  std::string text = listing(summary);
  if (!summary.measured.empty()) {
    text += "\n" + measured_text(summary.measured);
  }
  if (!summary.services.empty()) {
    text += "\n" + services_text(summary);
  }
  if (!summary.tenants.empty()) {
    text += "\n" + tenants_text(summary.tenants);
  }
  if (!summary.breakdown.empty()) {
    text += "\n" + breakdown_text(summary.breakdown);
  }
  return text;
}

}  // namespace tessera::trace
