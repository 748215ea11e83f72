#include "transformer/product_keys.hpp"

#include <cstdint>
#include <optional>
#include <string>

#include "tessera/config/data_type_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/config/without_effect.hpp"

namespace tessera::workload {
namespace {

// Made when asked for, as kinds of work register before this file's own objects are there.
struct ProductFormatKeys {
  config::ChoiceKey<DataType> type =
      config::ChoiceKey<DataType>(
          "product_type", config::product_types(), "data_type",
          "type to which the inputs of a layer's products with weights are cast before each "
          "product; mxfp8: fp8 in blocks of 32 that share a scale of 1 B")
          .derived();
  config::OptionalKey<std::uint64_t> group_size{
      "product_group_size", "none",
      "adjacent elements in product_type that share a scale; for weights, the side of a square "
      "of elements; none: no scales except those of mxfp8",
      config::between<std::uint64_t>(1, 1 << 16)};
  config::Key<Bytes> scale{"product_scale", Bytes(4),
                           "size of the scale of a group, with product_group_size",
                           config::between(Bytes(1), Bytes(8))};
};

const ProductFormatKeys& product_format_keys() {
  static const ProductFormatKeys made;
  return made;
}

}  // namespace

NumberFormat read_products(config::Section& section, DataType data_type) {
  const ProductFormatKeys& keys = product_format_keys();
  NumberFormat products = format_of(keys.type.read(section, to_string(data_type)));
  const std::optional<std::uint64_t> group = keys.group_size.read(section);
  if (!group) {
    if (section.has(keys.scale.key())) {
      section.raw(keys.scale.key());
      section.error(keys.scale.key(), "is of a group, whose 'product_group_size' is not given");
    }
    return products;
  }
  const Bytes scale = keys.scale.read(section);
  if (products.group_size > 0) {
    section.error(keys.group_size.key(), to_string(products.type) +
                                             " has scales of its own, one for " +
                                             std::to_string(products.group_size) + " neighbours");
  } else if (products.type == data_type) {
    config::note_without_effect(section, keys.group_size.key(),
                                "products in the workload's data_type");
  } else {
    products.group_size = *group;
    products.scale = scale;
  }
  return products;
}

void leave_products(config::Section& section, std::string_view with) {
  const ProductFormatKeys& keys = product_format_keys();
  for (const std::string_view key : {keys.type.key(), keys.group_size.key(), keys.scale.key()}) {
    if (section.raw(key).kind == config::Value::Kind::scalar) {
      config::note_without_effect(section, key, with);
    }
  }
}

std::vector<ParameterInfo> product_parameters() {
  const ProductFormatKeys& keys = product_format_keys();
  return {keys.type, keys.group_size, keys.scale};
}

}  // namespace tessera::workload
