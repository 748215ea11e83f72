#include "schema.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <set>

#include "tessera/core/error.hpp"

namespace tessera::trace {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are stored as they lie in memory");

constexpr std::array all_field_types{FieldType::u8,     FieldType::u16,   FieldType::u32,
                                     FieldType::u64,    FieldType::i64,   FieldType::f64,
                                     FieldType::text32, FieldType::text64};

hdf5::Type stored_type(FieldType type, const std::string& path) {
  const auto copy = [&](hid_t of) {
    return hdf5::Type(hdf5::check(H5Tcopy(of), path, "make a field's type"));
  };
  switch (type) {
    case FieldType::u8:
      return copy(H5T_STD_U8LE);
    case FieldType::u16:
      return copy(H5T_STD_U16LE);
    case FieldType::u32:
      return copy(H5T_STD_U32LE);
    case FieldType::u64:
      return copy(H5T_STD_U64LE);
    case FieldType::i64:
      return copy(H5T_STD_I64LE);
    case FieldType::f64:
      return copy(H5T_IEEE_F64LE);
    case FieldType::text32:
    case FieldType::text64:
      return hdf5::text_type(size_of(type), path);
  }
  throw InternalError("a field of no type");
}

std::string only_text(hid_t object, const std::string& name, const std::string& path) {
  const std::vector<std::string> texts = hdf5::read_texts(object, name, path);
  return texts.empty() ? "" : texts.front();
}

// The field type that is stored as `stored`.
FieldType field_type_of(hid_t stored, const std::string& what, const std::string& path) {
  for (const FieldType candidate : all_field_types) {
    const hdf5::Type type = stored_type(candidate, path);
    if (H5Tequal(type.get(), stored) > 0) {
      return candidate;
    }
  }
  throw IoError(path + ": error: " + what + " has a type that is none of a trace's");
}

std::string member_name(hid_t type, unsigned member, const std::string& path) {
  char* name = H5Tget_member_name(type, member);
  if (name == nullptr) {
    hdf5::throw_failure(path, "read a field's name");
  }
  std::string result = name;
  H5free_memory(name);
  return result;
}

}  // namespace

std::size_t size_of(FieldType type) {
  switch (type) {
    case FieldType::u8:
      return 1;
    case FieldType::u16:
      return 2;
    case FieldType::u32:
      return 4;
    case FieldType::u64:
    case FieldType::i64:
    case FieldType::f64:
      return 8;
    case FieldType::text32:
      return 32;
    case FieldType::text64:
      return 64;
  }
  throw InternalError("a field of no type");
}

void check_spec(const TableSpec& spec) {
  ensure(!spec.name.empty() && spec.name.find('/') == std::string::npos && spec.name != ".",
         "a table needs a plain name");
  ensure(!spec.fields.empty(), "a table needs a field");
  std::vector<Field> fields = spec.fields;
  std::sort(fields.begin(), fields.end(),
            [](const Field& a, const Field& b) { return a.offset < b.offset; });
  std::set<std::string> names;
  std::size_t end = 0;
  for (const Field& field : fields) {
    ensure(!field.name.empty() && names.insert(field.name).second,
           "two fields of a table have one name, or none");
    ensure(field.offset >= end, "two fields of a table overlap");
    end = field.offset + size_of(field.type);
  }
  ensure(end <= spec.row_bytes, "a field lies outside its row");
}

hdf5::Type row_type(const TableSpec& spec, const std::string& path) {
  hdf5::Type type(
      hdf5::check(H5Tcreate(H5T_COMPOUND, spec.row_bytes), path, "make a table's type"));
  for (const Field& field : spec.fields) {
    const hdf5::Type member = stored_type(field.type, path);
    hdf5::check(H5Tinsert(type.get(), field.name.c_str(), field.offset, member.get()), path,
                "make a table's type");
  }
  return type;
}

void write_schema(hid_t dataset, const TableSpec& spec, const std::string& path) {
  hdf5::write_text(dataset, "description", spec.description, path);
  for (const Field& field : spec.fields) {
    hdf5::write_text(dataset, "unit." + field.name, field.unit, path);
    hdf5::write_text(dataset, "description." + field.name, field.description, path);
  }
}

TableSpec read_schema(hid_t dataset, const std::string& name, const std::string& path) {
  const hdf5::Type type(hdf5::check(H5Dget_type(dataset), path, "read a table's type"));
  if (H5Tget_class(type.get()) != H5T_COMPOUND) {
    throw IoError(path + ": error: table '" + name + "' has no fields");
  }
  TableSpec spec{name, only_text(dataset, "description", path), H5Tget_size(type.get()), {}};
  const int count = hdf5::check(H5Tget_nmembers(type.get()), path, "read a table's type");
  for (unsigned member = 0; member < static_cast<unsigned>(count); ++member) {
    Field field{member_name(type.get(), member, path), {}, 0, "", ""};
    const hdf5::Type stored(
        hdf5::check(H5Tget_member_type(type.get(), member), path, "read a field's type"));
    field.type = field_type_of(stored.get(), "field '" + name + "." + field.name + "'", path);
    field.offset = H5Tget_member_offset(type.get(), member);
    if (spec.row_bytes < size_of(field.type) ||
        field.offset > spec.row_bytes - size_of(field.type)) {
      throw IoError(path + ": error: field '" + name + "." + field.name + "' is outside its row");
    }
    field.unit = only_text(dataset, "unit." + field.name, path);
    field.description = only_text(dataset, "description." + field.name, path);
    spec.fields.push_back(std::move(field));
  }
  return spec;
}

bool readable_as(const TableSpec& stored, const TableSpec& wanted) {
  const auto fits = [](FieldType narrow, FieldType wide) {
    return narrow == wide || (narrow < wide && wide <= FieldType::u64);
  };
  const auto is_there = [&](const Field& field) {
    return std::any_of(stored.fields.begin(), stored.fields.end(), [&](const Field& own) {
      return own.name == field.name && fits(own.type, field.type);
    });
  };
  return stored.name == wanted.name &&
         std::all_of(wanted.fields.begin(), wanted.fields.end(), is_there);
}

}  // namespace tessera::trace
