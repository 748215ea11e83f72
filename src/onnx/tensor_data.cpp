#include "tensor_data.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tessera/core/error.hpp"

namespace tessera::onnx {
namespace {

using ::onnx::TensorProto;

struct Reader {
  const TensorProto& proto;
  const std::string& path;
  const Origin& origin;

  [[noreturn]] void fail(const std::string& problem) const { fail_at(path, origin, problem); }

  Shape shape() const {
    if (proto.dims_size() > static_cast<int>(most_sides)) {
      fail("a tensor of " + std::to_string(proto.dims_size()) + " sides");
    }
    Shape sides(proto.dims().begin(), proto.dims().end());
    std::uint64_t elements = 1;
    for (const std::int64_t side : sides) {
      if (side < 0 || static_cast<std::uint64_t>(side) > most_elements) {
        fail("a side of " + std::to_string(side) + " in the shape " + to_string(sides));
      }
      elements *= static_cast<std::uint64_t>(side);
      if (elements > most_elements) {
        fail("the shape " + to_string(sides) + " has more than 2^48 elements");
      }
    }
    return sides;
  }

  // Elements in the typed list of the proto, or -1 when the type has none.
  std::int64_t listed(ElementType type) const {
    switch (type) {
      case ElementType::float32:
        return proto.float_data_size();
      case ElementType::complex64:
        return proto.float_data_size() / 2;
      case ElementType::int64:
        return proto.int64_data_size();
      case ElementType::text:
        return proto.string_data_size();
      case ElementType::float64:
        return proto.double_data_size();
      case ElementType::complex128:
        return proto.double_data_size() / 2;
      case ElementType::uint32:
      case ElementType::uint64:
        return proto.uint64_data_size();
      default:
        return proto.int32_data_size();
    }
  }
};

double half_to_real(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F;
  const int mantissa = bits & 0x3FF;
  double value = exponent == 0    ? std::ldexp(mantissa, -24)
                 : exponent == 31 ? (mantissa == 0 ? HUGE_VAL : NAN)
                                  : std::ldexp(mantissa + 1024, exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

double brain_to_real(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

template <class T>
T word_at(const std::string& raw, std::size_t index) {
  T value;
  std::memcpy(&value, raw.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Types whose values take part in shapes; none for others.
std::optional<Values> values_of_raw(const std::string& raw, ElementType type, std::size_t count) {
  Values values;
  values.real = is_real(type);
  for (std::size_t i = 0; i < count; ++i) {
    switch (type) {
      case ElementType::float32:
        values.reals.push_back(word_at<float>(raw, i));
        break;
      case ElementType::float64:
        values.reals.push_back(word_at<double>(raw, i));
        break;
      case ElementType::float16:
        values.reals.push_back(half_to_real(word_at<std::uint16_t>(raw, i)));
        break;
      case ElementType::bfloat16:
        values.reals.push_back(brain_to_real(word_at<std::uint16_t>(raw, i)));
        break;
      case ElementType::int64:
      case ElementType::uint64:
        values.integers.push_back(word_at<std::int64_t>(raw, i));
        break;
      case ElementType::int32:
        values.integers.push_back(word_at<std::int32_t>(raw, i));
        break;
      case ElementType::uint32:
        values.integers.push_back(word_at<std::uint32_t>(raw, i));
        break;
      case ElementType::int16:
        values.integers.push_back(word_at<std::int16_t>(raw, i));
        break;
      case ElementType::uint16:
        values.integers.push_back(word_at<std::uint16_t>(raw, i));
        break;
      case ElementType::int8:
        values.integers.push_back(word_at<std::int8_t>(raw, i));
        break;
      case ElementType::uint8:
      case ElementType::boolean:
        values.integers.push_back(word_at<std::uint8_t>(raw, i));
        break;
      default:
        return std::nullopt;
    }
  }
  return values;
}

std::optional<Values> values_of_lists(const TensorProto& proto, ElementType type) {
  Values values;
  values.real = is_real(type);
  switch (type) {
    case ElementType::float32:
      values.reals.assign(proto.float_data().begin(), proto.float_data().end());
      break;
    case ElementType::float64:
      values.reals.assign(proto.double_data().begin(), proto.double_data().end());
      break;
    case ElementType::float16:
      for (const std::int32_t word : proto.int32_data()) {
        values.reals.push_back(half_to_real(static_cast<std::uint16_t>(word)));
      }
      break;
    case ElementType::bfloat16:
      for (const std::int32_t word : proto.int32_data()) {
        values.reals.push_back(brain_to_real(static_cast<std::uint16_t>(word)));
      }
      break;
    case ElementType::int64:
      values.integers.assign(proto.int64_data().begin(), proto.int64_data().end());
      break;
    case ElementType::uint32:
    case ElementType::uint64:
      for (const std::uint64_t word : proto.uint64_data()) {
        values.integers.push_back(static_cast<std::int64_t>(word));
      }
      break;
    case ElementType::int32:
    case ElementType::int16:
    case ElementType::uint16:
    case ElementType::int8:
    case ElementType::uint8:
    case ElementType::boolean:
      values.integers.assign(proto.int32_data().begin(), proto.int32_data().end());
      break;
    default:
      return std::nullopt;
  }
  return values;
}

// Where the bytes of an external tensor are; none when the file is not there.
struct External {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;
};

std::uint64_t number_of(const Reader& reader, const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9' || value > (std::uint64_t{1} << 58U)) {
      reader.fail("external data has the " + key + " '" + text + "'");
    }
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

External external_of(const Reader& reader) {
  External external;
  for (const auto& entry : reader.proto.external_data()) {
    if (entry.key() == "location") {
      external.location = entry.value();
    } else if (entry.key() == "offset") {
      external.offset = number_of(reader, "offset", entry.value());
    } else if (entry.key() == "length") {
      external.length = number_of(reader, "length", entry.value());
    }
  }
  return external;
}

// The bytes of a small tensor, "" of a large one; none when the file is not there.
std::optional<std::string> external_bytes(const Reader& reader, std::uint64_t size, bool small) {
  const External external = external_of(reader);
  const std::filesystem::path relative(external.location);
  bool leaves = relative.is_absolute() || external.location.find('\0') != std::string::npos;
  for (const auto& step : relative) {
    leaves = leaves || step == "..";
  }
  if (leaves) {
    reader.fail("its external data '" + external.location + "' is outside the model's folder");
  }
  if (external.length && *external.length != size) {
    reader.fail("its external data has " + std::to_string(*external.length) +
                " bytes, and its shape asks for " + std::to_string(size));
  }
  const auto file = std::filesystem::path(reader.path).parent_path() / relative;
  std::error_code unknown;
  if (external.location.empty() || !std::filesystem::is_regular_file(file, unknown)) {
    return std::nullopt;
  }
  const std::uint64_t there = std::filesystem::file_size(file, unknown);
  if (unknown || there < external.offset || there - external.offset < size) {
    reader.fail("its external data should end at byte " + std::to_string(external.offset + size) +
                " of " + external.location + ", which has " + std::to_string(there));
  }
  std::string bytes;
  if (small) {
    bytes.resize(size);
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(external.offset));
    stream.read(bytes.data(), static_cast<std::streamsize>(size));
    if (!stream) {
      reader.fail("its external data " + external.location + " cannot be read");
    }
  }
  return bytes;
}

}  // namespace

Tensor read_tensor(const TensorProto& proto, const std::string& path, const Origin& origin,
                   std::uint64_t& missing) {
  const Reader reader{proto, path, origin};
  Tensor tensor;
  tensor.name = proto.name();
  tensor.role = Role::parameter;
  tensor.type = element_type_from(proto.data_type());
  if (tensor.type == ElementType::undefined) {
    reader.fail("a tensor of the data type " + std::to_string(proto.data_type()) +
                ", which is none");
  }
  tensor.shape = reader.shape();
  const std::uint64_t elements = tensor.elements();
  const std::uint64_t size = tensor.bytes().count();
  const bool small = elements <= most_values;
  if (proto.data_location() == TensorProto::EXTERNAL) {
    const auto bytes = external_bytes(reader, size, small);
    if (!bytes) {
      ++missing;
    } else if (small) {
      tensor.values = values_of_raw(*bytes, tensor.type, elements);
    }
  } else if (proto.has_raw_data() && tensor.type != ElementType::text) {
    if (proto.raw_data().size() != size) {
      reader.fail("a tensor of " + std::to_string(proto.raw_data().size()) +
                  " bytes, and its shape " + to_string(*tensor.shape) + " of " +
                  to_string(tensor.type) + " asks for " + std::to_string(size));
    }
    if (small) {
      tensor.values = values_of_raw(proto.raw_data(), tensor.type, elements);
    }
  } else {
    const auto listed = static_cast<std::uint64_t>(reader.listed(tensor.type));
    // Two numbers of four bits share a word.
    const std::uint64_t expected = bits_of(tensor.type) == 4 ? (elements + 1) / 2 : elements;
    if (listed == 0 && elements > 0) {
      ++missing;
    } else if (listed != expected) {
      reader.fail("a tensor of " + std::to_string(listed) + " elements, and its shape is " +
                  to_string(*tensor.shape));
    } else if (small) {
      tensor.values = values_of_lists(proto, tensor.type);
    }
  }
  return tensor;
}

Tensor read_sparse_tensor(const ::onnx::SparseTensorProto& proto, const std::string& path,
                          const Origin& origin) {
  TensorProto dense;
  dense.set_name(proto.values().name());
  dense.set_data_type(proto.values().data_type());
  *dense.mutable_dims() = proto.dims();
  std::uint64_t missing = 0;
  return read_tensor(dense, path, origin, missing);
}

}  // namespace tessera::onnx
