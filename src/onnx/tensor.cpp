#include "tessera/onnx/tensor.hpp"

#include <array>

namespace tessera::onnx {
namespace {

struct TypeInfo {
  const char* name;
  std::uint64_t bits;
  bool real;
};

// By number.
constexpr std::array types{TypeInfo{"?", 0, false},
                           TypeInfo{"float32", 32, true},
                           TypeInfo{"uint8", 8, false},
                           TypeInfo{"int8", 8, false},
                           TypeInfo{"uint16", 16, false},
                           TypeInfo{"int16", 16, false},
                           TypeInfo{"int32", 32, false},
                           TypeInfo{"int64", 64, false},
                           TypeInfo{"text", 128, false},
                           TypeInfo{"bool", 8, false},
                           TypeInfo{"float16", 16, true},
                           TypeInfo{"float64", 64, true},
                           TypeInfo{"uint32", 32, false},
                           TypeInfo{"uint64", 64, false},
                           TypeInfo{"complex64", 64, true},
                           TypeInfo{"complex128", 128, true},
                           TypeInfo{"bfloat16", 16, true},
                           TypeInfo{"float8_e4m3fn", 8, true},
                           TypeInfo{"float8_e4m3fnuz", 8, true},
                           TypeInfo{"float8_e5m2", 8, true},
                           TypeInfo{"float8_e5m2fnuz", 8, true},
                           TypeInfo{"uint4", 4, false},
                           TypeInfo{"int4", 4, false},
                           TypeInfo{"float4_e2m1", 4, true},
                           TypeInfo{"float8_e8m0", 8, true},
                           TypeInfo{"uint2", 2, false},
                           TypeInfo{"int2", 2, false}};

const TypeInfo& info_of(ElementType type) {
  return types.at(static_cast<std::size_t>(type));
}

}  // namespace

std::string to_string(ElementType type) {
  return info_of(type).name;
}

std::uint64_t bits_of(ElementType type) {
  return info_of(type).bits;
}

bool is_real(ElementType type) {
  return info_of(type).real;
}

ElementType element_type_from(std::int64_t number) {
  return number > 0 && number < static_cast<std::int64_t>(types.size())
             ? static_cast<ElementType>(number)
             : ElementType::undefined;
}

std::string to_string(const Shape& shape) {
  std::string text;
  for (const std::int64_t side : shape) {
    text += (text.empty() ? "" : "x") + std::to_string(side);
  }
  return text.empty() ? "scalar" : text;
}

std::uint64_t elements_of(const Shape& shape) {
  std::uint64_t elements = 1;
  for (const std::int64_t side : shape) {
    elements *= static_cast<std::uint64_t>(side);
  }
  return elements;
}

}  // namespace tessera::onnx
