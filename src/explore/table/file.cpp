// sweep.h5: the table of a sweep for programs.
#include <algorithm>
#include <limits>

#include "table/numbers.hpp"
#include "tessera/explore/table/table.hpp"
#include "tessera/trace/store/table_file.hpp"

namespace tessera::explore {
namespace {

using trace::FieldType;
using trace::TableRows;

constexpr const char* sweep_file_type = "tessera-sweep";

bool all_numbers(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(),
                     [](const std::string& text) { return to_double(text).has_value(); });
}

TableRows points_of(const SweepTable& table) {
  TableRows rows("points", "one row a point of the sweep that was run");
  rows.add_field("point", FieldType::u64, "",
                 "number in the grid of all axes, the last one fastest");
  for (const SweepKey& key : table.keys) {
    rows.add_field(key.key, all_numbers(key.values) ? FieldType::f64 : FieldType::text64, "",
                   "value of this key of the experiment");
  }
  rows.add_field("status", FieldType::text32, "", "finished, refused, deadlock, limit or failed");
  for (const SweepColumn& column : table.columns) {
    rows.add_field(column.name, FieldType::f64, column.unit, column.description);
  }
  rows.add_field("result_digest", FieldType::text32, "", "hash over all results of the point");
  rows.add_field("message", FieldType::text64, "",
                 "why it is not finished; the first 64 bytes of what sweep.csv has");
  for (const SweepRow& row : table.rows) {
    rows.begin_row();
    rows.put(row.point);
    for (const SweepKey& key : table.keys) {
      const std::string& value = key.values.at(row.places.at(key.axis));
      all_numbers(key.values) ? rows.put(*to_double(value)) : rows.put(value);
    }
    rows.put(row.status);
    for (const std::string& number : row.numbers) {
      rows.put(to_double(number).value_or(std::numeric_limits<double>::quiet_NaN()));
    }
    rows.put(row.digest);
    rows.put(row.message);
  }
  return rows;
}

TableRows keys_of(const SweepTable& table) {
  TableRows rows("keys", "one row a value of a key that varies, in the order of the sweep");
  rows.add_field("axis", FieldType::u32, "", "number of its axis; keys of one axis step together");
  rows.add_field("place", FieldType::u32, "", "number of the value on its axis");
  rows.add_field("key", FieldType::text64, "", "field of the table points");
  rows.add_field("value", FieldType::text64, "", "as the sweep has it");
  for (const SweepKey& key : table.keys) {
    for (std::uint32_t place = 0; place < key.values.size(); ++place) {
      rows.begin_row();
      rows.put(key.axis);
      rows.put(place);
      rows.put(key.key);
      rows.put(key.values[place]);
    }
  }
  return rows;
}

}  // namespace

void write_sweep_file(const std::string& path, const SweepTable& table,
                      const std::string& program_version) {
  const trace::Attributes attributes{{"program", program_version},
                                     {"sweep", table.name},
                                     {"experiment", table.experiment},
                                     {"objective", table.objective.column},
                                     {"goal", table.objective.maximize ? "maximize" : "minimize"}};
  trace::write_table_file(path, sweep_file_type, attributes, {points_of(table), keys_of(table)});
}

}  // namespace tessera::explore
