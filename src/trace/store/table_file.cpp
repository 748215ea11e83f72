#include "tessera/trace/store/table_file.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schema.hpp"
#include "store/fixed_table.hpp"
#include "store/hdf5_support.hpp"
#include "store/posix_file.hpp"
#include "tessera/core/error.hpp"

namespace tessera::trace {

TableRows::TableRows(std::string name, std::string description)
    : spec_{std::move(name), std::move(description), 0, {}} {}

void TableRows::add_field(const std::string& name, FieldType type, const std::string& unit,
                          const std::string& description) {
  spec_.fields.push_back({name, type, spec_.row_bytes, unit, description});
  spec_.row_bytes += size_of(type);
}

void TableRows::begin_row() {
  bytes_.resize(bytes_.size() + spec_.row_bytes);
  field_ = 0;
}

void TableRows::put(const std::string& text) {
  const std::size_t size = size_of(spec_.fields.at(field_).type);
  std::size_t length = std::min(text.size(), size);
  while (length < text.size() && length > 0 &&
         (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80) {
    --length;
  }
  std::memcpy(next_place(size), text.data(), length);
}

void TableRows::put_bytes(const void* value, std::size_t size) {
  std::memcpy(next_place(size), value, size);
}

std::byte* TableRows::next_place(std::size_t size) {
  const Field& field = spec_.fields.at(field_++);
  ensure(size_of(field.type) == size, "a value of the field's size");
  return bytes_.data() + bytes_.size() - spec_.row_bytes + field.offset;
}

void write_table_file(const std::string& path, const std::string& file_type,
                      const Attributes& attributes, const std::vector<TableRows>& tables) {
  const std::string aside = path + aside_suffix;
  {
    const hdf5::Guard guard;
    hdf5::WriteFile file = hdf5::create_file(aside, H5F_ACC_TRUNC);
    hdf5::write_text(file.get(), "file_type", file_type, aside);
    hdf5::write_text(file.get(), "format_version", format_version, aside);
    for (const auto& [name, text] : attributes) {
      hdf5::write_text(file.get(), name, text, aside);
    }
    for (const TableRows& table : tables) {
      write_rows(file.get(), table.spec(), table.bytes(), aside);
    }
    hdf5::check(file.reset(), aside, "close the file");
  }
  sync_and_rename(aside, path);
}

}  // namespace tessera::trace
