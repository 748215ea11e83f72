// The rates that services keep up, for people and programs.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

#include "note_counts.hpp"
#include "tessera/core/text.hpp"
#include "tessera/explore/capacity.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::explore {
namespace {

using trace::JsonText;

// So many digits.
std::string rounded(double value, int digits) {
  if (value == 0) {
    return "0";
  }
  // Powers of ten below one are not exact: large values are divided by those above.
  const int decimals = digits - 1 - static_cast<int>(std::floor(std::log10(value)));
  const double scale = std::pow(10, std::abs(decimals));
  const double shown =
      decimals < 0 ? std::round(value / scale) * scale : std::round(value * scale) / scale;
  std::array<char, 64> text{};
  const auto written =
      std::to_chars(text.data(), text.data() + text.size(), shown, std::chars_format::fixed);
  return written.ec == std::errc() ? std::string(text.data(), written.ptr) : format_number(shown);
}

std::string milliseconds(std::uint64_t ps) {
  return rounded(static_cast<double>(ps) * 1e-9, 4);
}

JsonText json_of(const trace::Service& service) {
  JsonText json = JsonText::object();
  json.put("tenant", service.tenant)
      .put("npus", service.npus)
      .put("served", service.served)
      .put("met", service.met)
      .put("met_per_s", service.met_per_s)
      .put("tokens", service.tokens)
      .put("cost_a_million_tokens", service.cost_a_million_tokens
                                        ? JsonText(*service.cost_a_million_tokens)
                                        : JsonText::null())
      .put("first_token_p99_ps", service.first_token.p99)
      .put("between_tokens_p99_ps", service.between_tokens.p99)
      .put("a_token_p99_ps", service.a_token.p99)
      .put("latency_p99_ps", service.latency.p99);
  return json;
}

// Why rows have no rate, or none that ends: each reason once, with the first that it is true of.
class Reasons {
 public:
  void note(const CapacityRow& row) {
    const std::string reason = reason_of(row);
    const auto known = std::find_if(reasons_.begin(), reasons_.end(),
                                    [&](const Reason& one) { return one.reason == reason; });
    if (known != reasons_.end()) {
      ++known->others;
    } else {
      reasons_.push_back({reason, join(row.values), 0});
    }
  }
  std::string text() const {
    std::string text;
    for (const Reason& one : reasons_) {
      text += one.values;
      if (one.others > 0) {
        text += " and " + std::to_string(one.others) + (one.others == 1 ? " other" : " others");
      }
      text += (one.values.empty() ? "" : ": ") + one.reason + "\n";
    }
    return text;
  }

 private:
  struct Reason {
    std::string reason;
    std::string values;
    std::uint64_t others = 0;
  };
  static std::string reason_of(const CapacityRow& row) {
    const std::string more = row.message.empty() ? "" : ": " + row.message;
    if (row.is_met()) {
      return row.message;
    }
    if (row.status == "beaten") {
      return "targets are not met at rates above the best" + more;
    }
    return (row.status == "late"
                ? "targets are not met at a rate of " + rounded(row.beyond, 4) + " either"
                : row.status) +
           more;
  }

  std::vector<Reason> reasons_;
};

// Which rows are as good as the first.
std::string ties_of(const CapacityOutcome& outcome) {
  std::vector<std::string> ties;
  for (std::size_t row = 1; row < outcome.rows.size(); ++row) {
    if (outcome.rows[row].is_met() && !is_better(outcome.rows.front(), outcome.rows[row])) {
      ties.push_back(join(outcome.rows[row].values));
    }
  }
  return ties.empty() ? "" : "as good as the first: " + join(ties, "; ") + "\n";
}

// What all keys of paths begin with is left out.
std::vector<std::string> short_names(const std::vector<std::string>& keys) {
  std::size_t shared = keys.size() < 2 ? 0 : keys.front().rfind('.') + 1;
  for (const std::string& key : keys) {
    while (shared > 0 && key.compare(0, shared, keys.front(), 0, shared) != 0) {
      shared = shared < 2 ? 0 : keys.front().rfind('.', shared - 2) + 1;
    }
  }
  std::vector<std::string> names;
  for (const std::string& key : keys) {
    names.push_back(key.substr(shared));
  }
  return names;
}

}  // namespace

std::string why_none(const CapacityOutcome& outcome, const std::string& what) {
  std::map<std::string, std::size_t> counts;
  std::string first;  // of the most frequent ones
  std::size_t untried = 0;
  for (const CapacityRow& row : outcome.rows) {
    if (row.status == "refused" || row.status == "failed") {
      ++untried;
      ++counts[row.message];
    }
  }
  const std::string none = "no " + what + " meets the targets";
  if (untried == 0) {
    const std::string why = outcome.rows.empty() ? "" : outcome.rows.front().message;
    return none + (why.empty() ? "" : ": " + why);
  }
  for (const CapacityRow& row : outcome.rows) {
    if (counts.contains(row.message) && (first.empty() || counts[row.message] > counts[first])) {
      first = row.message;
    }
  }
  const std::string all = std::to_string(outcome.rows.size());
  const std::string why = ", " + std::to_string(counts[first]) + " of them as: " + first;
  return untried == outcome.rows.size()
             ? "no " + what + " could be tried: all " + all + " are refused or fail" + why
             : none + "; " + std::to_string(untried) + " of " + all + " are refused or fail" + why;
}

std::string rate_text(double rate) {
  return rounded(rate, 4);
}

std::string to_table(const CapacityOutcome& outcome) {
  std::vector<std::string> head = short_names(outcome.keys);
  for (const char* const name :
       {"largest rate", "beyond", "runs", "service", "NPUs", "requests", "met %", "met/s",
        "first token p99 [ms]", "between tokens p99 [ms]", "a token p99 [ms]", "latency p99 [ms]",
        "a million tokens"}) {
    head.emplace_back(name);
  }
  TextTable table(std::move(head));
  Reasons why;
  NoteCounts notes;
  for (const CapacityRow& row : outcome.rows) {
    notes.add(row.values.empty() ? "the experiment" : join(row.values), row.notes);
    for (const trace::Service& service : row.services) {
      std::vector<std::string> cells = row.values;
      const double served = static_cast<double>(std::max<std::uint64_t>(service.served, 1));
      for (const std::string& cell :
           {rate_text(row.rate), row.beyond > 0 ? rounded(row.beyond, 4) : "-",
            std::to_string(row.runs), service.tenant, std::to_string(service.npus),
            std::to_string(service.served),
            rounded(100 * static_cast<double>(service.met) / served, 4),
            rounded(service.met_per_s, 4), milliseconds(service.first_token.p99),
            milliseconds(service.between_tokens.p99), milliseconds(service.a_token.p99),
            milliseconds(service.latency.p99),
            service.cost_a_million_tokens ? rounded(*service.cost_a_million_tokens, 4) : "-"}) {
        cells.push_back(cell);
      }
      table.add(std::move(cells));
    }
    if (row.status != "met" || !row.message.empty()) {
      why.note(row);
    }
  }
  return table.to_string() + ties_of(outcome) + why.text() + notes.table("rows");
}

std::string to_json(const CapacityOutcome& outcome) {
  JsonText rows = JsonText::list();
  for (const CapacityRow& row : outcome.rows) {
    JsonText values = JsonText::object();
    for (std::size_t i = 0; i < outcome.keys.size(); ++i) {
      values.put(outcome.keys[i], row.values[i]);
    }
    JsonText services = JsonText::list();
    for (const trace::Service& service : row.services) {
      services.add(json_of(service));
    }
    JsonText json = JsonText::object();
    json.put("values", values)
        .put("status", row.status)
        .put("message", row.message)
        .put("rate", row.rate)
        .put("beyond", row.beyond)
        .put("runs", row.runs)
        .put("times_count", row.times_count)
        .put("services", services)
        .put("notes", JsonText::list(row.notes));
    rows.add(json);
  }
  JsonText json = JsonText::object();
  json.put("file_type", "tessera-capacity")
      .put("format_version", "1.3")
      .put("complete", outcome.complete)
      .put("left", outcome.left)
      .put("rows", rows);
  return json.to_string();
}

}  // namespace tessera::explore
