// Data types as what a key may be: ChoiceKey<DataType> type{"data_type", data_types(), "fp16", …}.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/key.hpp"
#include "tessera/core/data_type.hpp"

namespace tessera::config {

inline ChoiceKey<DataType>::Choices choices_of(const std::vector<std::string>& names) {
  ChoiceKey<DataType>::Choices choices;
  for (const std::string& name : names) {
    choices.emplace_back(name, *data_type_from(name));
  }
  return choices;
}
inline ChoiceKey<DataType>::Choices data_types() {
  return choices_of(data_type_names());
}
inline ChoiceKey<DataType>::Choices product_types() {
  return choices_of(product_type_names());
}

}  // namespace tessera::config
