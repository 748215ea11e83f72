#include "tessera/explore/table/table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "note_counts.hpp"
#include "table/numbers.hpp"
#include "table/rows.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/text.hpp"
#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/trace/store/json.hpp"

namespace tessera::explore {
namespace {

using trace::Json;

constexpr std::size_t widest_reason = 240;  // characters of a reason in the table

void collect(const Json& json, const std::string& path, std::map<std::string, std::string>& found) {
  const auto inner = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
  if (json.is_number()) {
    found.emplace(path, json.text());
  } else if (json.is_object()) {
    for (const auto& [key, value] : json.members()) {
      collect(value, inner(key), found);
    }
  } else if (json.is_list()) {
    for (std::size_t index = 0; index < json.size(); ++index) {
      collect(json.items()[index], inner(std::to_string(index)), found);
    }
  }
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' ? "\"\"" : std::string(1, c);
  }
  return quoted + "\"";
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    line += (i > 0 ? "," : "") + csv_cell(cells[i]);
  }
  return line + "\n";
}

// For people: times and sizes with their unit, others with four digits.
std::string shown(const SweepColumn& column, const std::string& number) {
  const std::optional<double> value = to_double(number);
  if (!value) {
    return "";
  }
  std::int64_t whole = 0;
  const auto parsed = std::from_chars(number.data(), number.data() + number.size(), whole);
  const bool exact = parsed.ec == std::errc() && parsed.ptr == number.data() + number.size();
  if (exact && whole >= 0 && column.unit == "ps") {
    return to_string(SimTime::from_ps(whole));
  }
  if (exact && whole >= 0 && column.unit == "B") {
    return to_short_string(Bytes(static_cast<std::uint64_t>(whole)));
  }
  std::array<char, 64> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), *value,
                                 std::chars_format::general, 4);
  return std::string(buffer.data(), end.ptr) + (column.unit.empty() ? "" : " " + column.unit);
}

// As much of the end of each key as tells it from the others.
std::vector<std::string> short_names(const std::vector<SweepKey>& keys) {
  std::vector<std::string> names;
  for (const SweepKey& key : keys) {
    std::size_t begin = key.key.size();
    bool alone = false;
    while (!alone && begin > 0) {
      const std::size_t dot = key.key.rfind('.', begin - 1);
      begin = dot == std::string::npos ? 0 : dot;
      const std::string end = key.key.substr(begin);
      alone = std::none_of(keys.begin(), keys.end(), [&](const SweepKey& other) {
        return other.key != key.key && other.key.ends_with(end);
      });
    }
    names.push_back(key.key.substr(begin > 0 ? begin + 1 : 0));
  }
  return names;
}

std::string note_table(const std::vector<SweepRow>& rows) {
  NoteCounts notes;
  for (const SweepRow& row : rows) {
    notes.add("point " + std::to_string(row.point), row.notes);
  }
  return notes.table("points");
}

// Cut at a whole UTF-8 character.
std::string shortened(const std::string& text) {
  if (text.size() <= widest_reason) {
    return text;
  }
  std::size_t end = widest_reason;
  while ((static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    --end;
  }
  return text.substr(0, end) + "…";
}

}  // namespace

std::optional<double> to_double(const std::string& number) {
  double value = 0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool whole = result.ec == std::errc() && result.ptr == number.data() + number.size();
  return whole && !number.empty() ? std::optional(value) : std::nullopt;
}

std::string failure_table(const std::string& title, const std::vector<Failure>& failures) {
  struct Reason {
    std::uint64_t count = 0;
    const Failure* first = nullptr;
  };
  std::map<std::pair<std::string, std::string>, Reason> reasons;
  for (const Failure& failure : failures) {
    // What a deadlock or an endless run looked like differs from case to case.
    const bool one_kind = failure.status == "deadlock" || failure.status == "limit";
    Reason& reason = reasons[{failure.status, one_kind ? "" : without_numbers(failure.message)}];
    ++reason.count;
    reason.first = reason.first == nullptr ? &failure : reason.first;
  }
  std::vector<Reason> sorted;
  for (const auto& [key, reason] : reasons) {
    sorted.push_back(reason);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Reason& a, const Reason& b) { return a.count > b.count; });
  TextTable list({"times", "status", "for example", "reason"});
  for (const Reason& reason : sorted) {
    list.add({std::to_string(reason.count), reason.first->status, reason.first->what,
              shortened(reason.first->message)});
  }
  return failures.empty() ? "" : "\n" + title + "\n" + list.to_string();
}

std::map<std::string, std::string> numbers_of(const trace::Summary& summary) {
  std::map<std::string, std::string> found;
  collect(Json::parse(to_json(summary)).value(), "", found);
  return found;
}

std::string unit_of_number(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, const char*>, 7> ends{{
      {"samples_per_s", "samples/s"},
      {"flops_per_s", "FLOP/s"},
      {"_per_s", "1/s"},
      {"_ps", "ps"},
      {"_bytes", "B"},
      {".bytes", "B"},
      {"_s", "s"},
  }};
  // Quantiles, and the mean, are of what stands before them.
  constexpr std::array<std::string_view, 6> quantiles{".mean", ".p50", ".p90",
                                                      ".p95",  ".p99", ".most"};
  std::string_view base = name;
  for (const std::string_view quantile : quantiles) {
    if (base.ends_with(std::string("_ps").append(quantile))) {
      base.remove_suffix(quantile.size());
      break;
    }
  }
  for (const auto& [end, unit] : ends) {
    if (base.ends_with(end)) {
      return unit;
    }
  }
  return "";
}

std::vector<const SweepRow*> ranking(const SweepTable& table) {
  std::size_t column = 0;
  while (table.columns.at(column).name != table.objective.column) {
    ++column;
  }
  std::vector<std::pair<double, const SweepRow*>> order;
  for (const SweepRow& row : table.rows) {
    const std::optional<double> value =
        row.status == "finished" ? to_double(row.numbers.at(column)) : std::nullopt;
    if (value) {
      order.emplace_back(table.objective.maximize ? -*value : *value, &row);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const SweepRow*> result;
  for (const auto& [value, row] : order) {
    result.push_back(row);
  }
  return result;
}

std::vector<std::string> values_of(const SweepTable& table, const SweepRow& row) {
  std::vector<std::string> values;
  for (const SweepKey& key : table.keys) {
    values.push_back(key.values.at(row.places.at(key.axis)));
  }
  return values;
}

std::string to_csv(const SweepTable& table) {
  std::vector<std::string> head{"point"};
  for (const SweepKey& key : table.keys) {
    head.push_back(key.key);
  }
  head.emplace_back("status");
  for (const SweepColumn& column : table.columns) {
    head.push_back(column.name);
  }
  head.emplace_back("result_digest");
  head.emplace_back("message");
  head.emplace_back("notes");
  std::string text = csv_line(head);
  for (const SweepRow& row : table.rows) {
    std::vector<std::string> cells{std::to_string(row.point)};
    const std::vector<std::string> values = values_of(table, row);
    cells.insert(cells.end(), values.begin(), values.end());
    cells.push_back(row.status);
    cells.insert(cells.end(), row.numbers.begin(), row.numbers.end());
    cells.push_back(row.digest);
    cells.push_back(row.message);
    cells.push_back(join(row.notes, "; "));
    text += csv_line(cells);
  }
  return text;
}

std::string to_table(const SweepTable& table, std::size_t top) {
  const std::vector<const SweepRow*> best = ranking(table);
  std::vector<std::string> head{"", "point"};
  const std::vector<std::string> names = short_names(table.keys);
  head.insert(head.end(), names.begin(), names.end());
  for (const SweepColumn& column : table.columns) {
    head.push_back(column.name);
  }
  TextTable list(head);
  for (std::size_t place = 0; place < std::min(top, best.size()); ++place) {
    const SweepRow& row = *best[place];
    std::vector<std::string> cells{std::to_string(place + 1), std::to_string(row.point)};
    const std::vector<std::string> values = values_of(table, row);
    cells.insert(cells.end(), values.begin(), values.end());
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      cells.push_back(shown(table.columns[i], row.numbers[i]));
    }
    list.add(std::move(cells));
  }
  std::vector<Failure> failures;
  for (const SweepRow& row : table.rows) {
    if (row.status != "finished") {
      failures.push_back({"point " + std::to_string(row.point), row.status, row.message});
    }
  }
  const std::size_t finished = table.rows.size() - failures.size();
  std::string text = table.name + ": " + std::to_string(table.rows.size()) + " points, " +
                     std::to_string(finished) + " finished; best by " +
                     (table.objective.maximize ? "largest " : "smallest ") +
                     table.objective.column + "\n";
  if (finished > best.size()) {
    text += std::to_string(finished - best.size()) + " of them have no " + table.objective.column +
            " and are not ranked\n";
  }
  return text + (best.empty() ? "" : list.to_string()) + failure_table("failed", failures) +
         note_table(table.rows);
}

}  // namespace tessera::explore
