// A table's description in the file: the compound type of its rows, and the attributes that give
// units and meaning.
#pragma once

#include <string>
#include <string_view>

#include "store/hdf5_support.hpp"
#include "tessera/trace/trace_file.hpp"

namespace tessera::trace {

// Values of the root attributes `file_type` and `format_version`; a reader refuses another major.
inline constexpr const char* trace_file_type = "tessera-trace";
inline constexpr const char* index_file_type = "tessera-index";
inline constexpr const char* format_version = "1.9";
inline constexpr std::string_view readable_versions = "1.";

// Bytes one value of `type` takes.
std::size_t size_of(FieldType type);

// Throws InternalError unless the table has a name and its fields have distinct names, lie inside
// the row and do not overlap.
void check_spec(const TableSpec& spec);

// The compound type of a row, with the layout of the record in memory; bytes between fields belong
// to no field. Throws IoError.
hdf5::Type row_type(const TableSpec& spec, const std::string& path);

// Attributes `description`, and `unit.F` and `description.F` of each field F. Throws IoError.
void write_schema(hid_t dataset, const TableSpec& spec, const std::string& path);

// The same, read back. Throws IoError when a field's type is none of a trace's.
TableSpec read_schema(hid_t dataset, const std::string& name, const std::string& path);

// Whether rows of `stored` can be read as rows of `wanted`, field by field by name: it has all of
// these fields, none of them wider. Words about them may differ.
bool readable_as(const TableSpec& stored, const TableSpec& wanted);

}  // namespace tessera::trace
