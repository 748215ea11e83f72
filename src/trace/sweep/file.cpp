// sweep.h5: the table of a sweep for programs.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include "schema.hpp"
#include "store/fixed_table.hpp"
#include "store/hdf5_support.hpp"
#include "store/posix_file.hpp"
#include "sweep/numbers.hpp"
#include "tessera/core/error.hpp"
#include "tessera/trace/sweep/table.hpp"

namespace tessera::trace {
namespace {

constexpr const char* sweep_file_type = "tessera-sweep";

// Rows that are put together field by field, for their number depends on the sweep.
class RowWriter {
 public:
  RowWriter(std::string name, std::string description)
      : spec_{std::move(name), std::move(description), 0, {}} {}

  void add(const std::string& name, FieldType type, const std::string& unit,
           const std::string& description) {
    spec_.fields.push_back({name, type, spec_.row_bytes, unit, description});
    spec_.row_bytes += size_of(type);
  }

  void begin_row() {
    bytes_.resize(bytes_.size() + spec_.row_bytes);
    field_ = 0;
  }
  template <class Number>
  void put(Number value) {
    std::memcpy(place(sizeof(value)), &value, sizeof(value));
  }
  // Cut at a whole character.
  void put(const std::string& text) {
    const std::size_t size = size_of(spec_.fields[field_].type);
    std::size_t length = std::min(text.size(), size);
    while (length < text.size() && length > 0 &&
           (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
      --length;
    }
    std::memcpy(place(size), text.data(), length);
  }

  void write(hid_t file, const std::string& path) const { write_rows(file, spec_, bytes_, path); }

 private:
  std::byte* place(std::size_t size) {
    const Field& field = spec_.fields.at(field_++);
    ensure(size_of(field.type) == size, "a value of the field's size");
    return bytes_.data() + bytes_.size() - spec_.row_bytes + field.offset;
  }

  TableSpec spec_;
  std::vector<std::byte> bytes_;
  std::size_t field_ = 0;
};

bool all_numbers(const std::vector<std::string>& texts) {
  return std::all_of(texts.begin(), texts.end(),
                     [](const std::string& text) { return to_double(text).has_value(); });
}

RowWriter points_of(const SweepTable& table) {
  RowWriter rows("points", "one row a point of the sweep that was run");
  rows.add("point", FieldType::u64, "", "number in the grid of all axes, the last one fastest");
  for (const SweepKey& key : table.keys) {
    rows.add(key.key, all_numbers(key.values) ? FieldType::f64 : FieldType::text64, "",
             "value of this key of the experiment");
  }
  rows.add("status", FieldType::text32, "", "finished, refused, deadlock, limit or failed");
  for (const SweepColumn& column : table.columns) {
    rows.add(column.name, FieldType::f64, column.unit, column.description);
  }
  rows.add("result_digest", FieldType::text32, "", "hash over all results of the point");
  rows.add("message", FieldType::text64, "",
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

RowWriter keys_of(const SweepTable& table) {
  RowWriter rows("keys", "one row a value of a key that varies, in the order of the sweep");
  rows.add("axis", FieldType::u32, "", "number of its axis; keys of one axis step together");
  rows.add("place", FieldType::u32, "", "number of the value on its axis");
  rows.add("key", FieldType::text64, "", "field of the table points");
  rows.add("value", FieldType::text64, "", "as the sweep has it");
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
  const std::string aside = path + aside_suffix;
  {
    const hdf5::Guard guard;
    hdf5::WriteFile file = hdf5::create_file(aside, H5F_ACC_TRUNC);
    const Attributes attributes{{"file_type", sweep_file_type},
                                {"format_version", format_version},
                                {"program", program_version},
                                {"sweep", table.name},
                                {"experiment", table.experiment},
                                {"objective", table.objective.column},
                                {"goal", table.objective.maximize ? "maximize" : "minimize"}};
    for (const auto& [name, text] : attributes) {
      hdf5::write_text(file.get(), name, text, aside);
    }
    points_of(table).write(file.get(), aside);
    keys_of(table).write(file.get(), aside);
    hdf5::check(file.reset(), aside, "close the file");
  }
  sync_and_rename(aside, path);
}

}  // namespace tessera::trace
