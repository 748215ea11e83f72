// A sweep's table for programs.
#include <charconv>

#include "table/numbers.hpp"
#include "table/rows.hpp"
#include "tessera/explore/table/table.hpp"
#include "tessera/trace/json_text.hpp"

namespace tessera::explore {
namespace {

using trace::JsonText;

// Whole numbers stay whole, others are the nearest of double precision.
JsonText json_of_number(const std::string& number) {
  std::uint64_t whole = 0;
  const char* const end = number.data() + number.size();
  if (const auto read = std::from_chars(number.data(), end, whole);
      read.ec == std::errc() && read.ptr == end) {
    return whole;
  }
  const std::optional<double> value = to_double(number);
  return value ? JsonText(*value) : JsonText::null();
}

JsonText json_of_columns(const SweepTable& table) {
  JsonText columns = JsonText::list();
  for (const SweepColumn& column : table.columns) {
    columns.add(JsonText::object()
                    .put("name", column.name)
                    .put("unit", column.unit)
                    .put("description", column.description));
  }
  return columns;
}

JsonText json_of_row(const SweepTable& table, const SweepRow& row) {
  JsonText values = JsonText::object();
  const std::vector<std::string> texts = values_of(table, row);
  for (std::size_t key = 0; key < texts.size(); ++key) {
    values.put(table.keys[key].key, texts[key]);
  }
  JsonText numbers = JsonText::object();
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    numbers.put(table.columns[column].name, column < row.numbers.size()
                                                ? json_of_number(row.numbers[column])
                                                : JsonText::null());
  }
  JsonText json = JsonText::object();
  json.put("point", row.point)
      .put("values", values)
      .put("status", row.status)
      .put("message", row.message)
      .put("result_digest", row.digest)
      .put("numbers", numbers)
      .put("notes", JsonText::list(row.notes));
  return json;
}

}  // namespace

std::string to_json(const SweepTable& table, const std::string& folder, bool complete) {
  JsonText rows = JsonText::list();
  for (const SweepRow& row : table.rows) {
    rows.add(json_of_row(table, row));
  }
  JsonText best = JsonText::list();
  for (const SweepRow* const row : ranking(table)) {
    best.add(row->point);
  }
  JsonText objective = JsonText::object();
  objective.put("column", table.objective.column).put("maximize", table.objective.maximize);
  JsonText json = JsonText::object();
  json.put("file_type", "tessera-sweep")
      .put("format_version", "1.0")
      .put("complete", complete)
      .put("name", table.name)
      .put("experiment", table.experiment)
      .put("folder", folder)
      .put("objective", objective)
      .put("columns", json_of_columns(table))
      .put("best", best)
      .put("rows", rows);
  return json.to_string();
}

}  // namespace tessera::explore
