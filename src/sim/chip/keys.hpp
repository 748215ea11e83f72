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
                                        executor::ChipWork{}.data_type,
                                        "data type of all operands"};
  config::Key<Bytes> message{
      "message", executor::ChipWork{}.message,
      "NPU cores: size of a message that begins or ends a core's share of an operator",
      config::between(Bytes(1), Bytes(1U << 30U))};
  config::OtherKey operators{"operators", "list", "", "operators, each a mapping"};
  config::NameKey kind{"operators.kind", [] { return npu::operators().names(); }, "",
                       "each a mapping"};
  config::DerivedKey<std::string> name{"operators.name", "kind and place",
                                       "name of the operator, unique"};
  config::OtherKey after{"operators.after", "list of text", "the one before",
                         "predecessors: names of earlier operators in the list"};
  // Of models:
  config::Key<bool> drain{"drain", false,
                          "NPU cores: a node begins only when the previous node has ended"};
  config::ListKey<std::string> free{
      "free", {}, "NPU cores: types of nodes that take no time"};  // read where it is given
};

// Of so many cores.
inline config::OptionalKey<std::uint32_t> first_core_key(std::uint32_t cores) {
  return {"operators.first_core", "its number",
          "core that computes the operator's first tiles; further tiles follow round-robin",
          config::between(0U, cores - 1)};
}

// Made when they are first asked for: tables in other files have them before main.
const ChipKeys& chip_keys();

}  // namespace tessera::sim
