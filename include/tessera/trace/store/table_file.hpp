// HDF5 files of tables that are written once and whole, unlike a trace, and whose fields depend on
// what they hold.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {

// A table that is put together field by field: all fields first, then the rows.
class TableRows {
 public:
  TableRows(std::string name, std::string description);

  void add_field(const std::string& name, FieldType type, const std::string& unit,
                 const std::string& description);
  void begin_row();
  // The values of a row, in the order of the fields; each as large as its field.
  template <class Number>
  requires std::is_arithmetic_v<Number>
  void put(Number value) { put_bytes(&value, sizeof(value)); }
  // Cut at a whole character.
  void put(const std::string& text);

  const TableSpec& spec() const { return spec_; }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void put_bytes(const void* value, std::size_t size);
  std::byte* next_place(std::size_t size);

  TableSpec spec_;
  std::vector<std::byte> bytes_;
  std::size_t field_ = 0;
};

// Writes the file aside and renames it. Root attributes: `file_type`, the format version, then
// those given. Equal tables are equal files. Throws IoError.
void write_table_file(const std::string& path, const std::string& file_type,
                      const Attributes& attributes, const std::vector<TableRows>& tables);

}  // namespace tessera::trace
