#include "tessera/core/data_type.hpp"

#include <array>
#include <cstddef>

#include "tessera/core/error.hpp"

namespace tessera {
namespace {

struct Entry {
  DataType type;
  const char* name;
  std::uint64_t bytes;
};
constexpr std::array<Entry, 8> entries{{{DataType::fp64, "fp64", 8},
                                        {DataType::fp32, "fp32", 4},
                                        {DataType::tf32, "tf32", 4},
                                        {DataType::fp16, "fp16", 2},
                                        {DataType::bf16, "bf16", 2},
                                        {DataType::fp8, "fp8", 1},
                                        {DataType::int8, "int8", 1},
                                        {DataType::mxfp8, "mxfp8", 1}}};

const Entry& entry_of(DataType type) {
  for (const Entry& entry : entries) {
    if (entry.type == type) {
      return entry;
    }
  }
  throw InternalError("a data type outside the table");
}

}  // namespace

std::string to_string(DataType type) {
  return entry_of(type).name;
}

std::vector<std::string> data_type_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    if (element_type(entry.type) == entry.type) {
      names.emplace_back(entry.name);
    }
  }
  return names;
}

std::vector<std::string> product_type_names() {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.emplace_back(entry.name);
  }
  return names;
}

std::optional<DataType> data_type_from(std::string_view name) {
  for (const Entry& entry : entries) {
    if (name == entry.name) {
      return entry.type;
    }
  }
  return std::nullopt;
}

Bytes element_size(DataType type) {
  return Bytes(entry_of(type).bytes);
}

DataType element_type(DataType type) {
  return type == DataType::mxfp8 ? DataType::fp8 : type;
}

}  // namespace tessera
