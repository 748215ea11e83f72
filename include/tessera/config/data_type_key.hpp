// Data types as what a key may be: ChoiceKey<DataType> type{"data_type", data_types(), "fp16", …}.
#pragma once

#include "tessera/config/key.hpp"
#include "tessera/core/data_type.hpp"

namespace tessera::config {

inline ChoiceKey<DataType>::Choices data_types() {
  ChoiceKey<DataType>::Choices choices;
  for (const std::string& name : data_type_names()) {
    choices.emplace_back(name, *data_type_from(name));
  }
  return choices;
}

}  // namespace tessera::config
