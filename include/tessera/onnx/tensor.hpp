// Tensors of a model: element type, shape, and the values of small constants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tessera/core/units.hpp"

namespace tessera::onnx {

// Numbers as in TensorProto.DataType of the ONNX schema.
enum class ElementType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  text = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8_e4m3fn = 17,
  float8_e4m3fnuz = 18,
  float8_e5m2 = 19,
  float8_e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4_e2m1 = 23,
  float8_e8m0 = 24,  // powers of two, scales of others
  uint2 = 25,
  int2 = 26
};

// "float32" and so on, "?" for a number that is none.
std::string to_string(ElementType type);
// Of one element [bit]; a text counts as 16 bytes (assumed: it has no size of its own).
std::uint64_t bits_of(ElementType type);
bool is_real(ElementType type);
// A number of the schema; undefined when there is none such.
ElementType element_type_from(std::int64_t number);

// Sides of a tensor, outermost first; a scalar has none.
using Shape = std::vector<std::int64_t>;

// "8x3x224x224", "scalar" for none.
std::string to_string(const Shape& shape);
// Product of the sides. Shapes of a graph were checked to have at most 2^48.
std::uint64_t elements_of(const Shape& shape);

// Elements of a small constant in row-major order: whole numbers and booleans as `integers`, others
// as `reals`; the other list is empty.
struct Values {
  bool real = false;
  std::vector<std::int64_t> integers;
  std::vector<double> reals;

  std::size_t size() const { return real ? reals.size() : integers.size(); }
  double as_real(std::size_t at) const {
    return real ? reals[at] : static_cast<double>(integers[at]);
  }
  friend bool operator==(const Values&, const Values&) = default;
};

// What a tensor is to the graph.
enum class Role : std::uint8_t {
  input,      // given with each request
  parameter,  // a constant: an initializer or a Constant node
  activation  // made by a node
};

struct Tensor {
  std::string name;
  ElementType type = ElementType::undefined;
  // None: could not be found out.
  std::optional<Shape> shape;
  Role role = Role::activation;
  // Of small constants, and of what follows from them and from shapes.
  std::optional<Values> values;

  std::uint64_t elements() const { return shape ? elements_of(*shape) : 0; }
  // Rounded up to whole bytes; 0 when the shape is not known.
  Bytes bytes() const { return Bytes((elements() * bits_of(type) + 7) / 8); }
};

}  // namespace tessera::onnx
