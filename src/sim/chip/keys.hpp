// Keys of work that NPU cores share: operators as a list, and models of ONNX.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/config/data_type_key.hpp"
#include "tessera/config/key.hpp"
#include "tessera/executor/chip.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::sim {

struct ChipKeys {
  config::ChoiceKey<DataType> data_type{"data_type", config::data_types(),
                                        executor::ChipWork{}.data_type, "of all operands"};
  config::Key<Bytes> message{"message", executor::ChipWork{}.message,
                             "NPU cores: that begins or ends a core's share of an operator",
                             config::at_least(Bytes(1))};
  config::OtherKey operators{"operators", "list", "", "operators, each a mapping"};
  config::NameKey kind{"operators.kind", [] { return npu::operators().names(); }, "",
                       "each a mapping"};
  config::DerivedKey<std::string> name{"operators.name", "kind and place",
                                       "of an operator, unlike all others"};
  config::OtherKey after{"operators.after", "list of text", "the one before",
                         "names of operators before it in the list"};
  // Of models:
  config::Key<bool> drain{"drain", false,
                          "NPU cores: a node begins when the node before it is over"};
  config::ListKey<std::string> free{
      "free", {}, "NPU cores: types of nodes that cost nothing"};  // read where it is given
};

// Of so many cores.
inline config::OptionalKey<std::uint32_t> first_core_key(std::uint32_t cores) {
  return {"operators.first_core", "its number",
          "that has the operator's first tiles, counted around", config::between(0U, cores - 1)};
}

// Made when they are first asked for: tables in other files have them before main.
const ChipKeys& chip_keys();

}  // namespace tessera::sim
