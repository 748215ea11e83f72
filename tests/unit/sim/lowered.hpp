// A model of ONNX as operators of NPU cores, and what tests ask of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../npu/making.hpp"
#include "../onnx/model.hpp"
#include "tessera/sim/onnx/lowering.hpp"

namespace tessera::sim::testing {

struct Lowered {
  npu::CoreConfig core;
  onnx::Graph graph;
  std::vector<executor::ChipOperator> operators;

  std::uint64_t macs() const {
    std::uint64_t sum = 0;
    for (const auto& op : operators) {
      sum += op.tiles->macs();
    }
    return sum;
  }
  // As the tiles' own programs multiply them.
  std::uint64_t macs_of_tiles() const {
    std::uint64_t sum = 0;
    for (const auto& op : operators) {
      std::map<std::uint64_t, std::uint64_t> of_shape;
      for (std::uint64_t group = 0; group < op.tiles->groups(); ++group) {
        for (std::uint64_t step = 0; step < op.tiles->steps(); ++step) {
          const std::uint64_t shape = op.tiles->tile(group, step).shape;
          const auto found = of_shape.find(shape);
          sum += found != of_shape.end()
                     ? found->second
                     : of_shape.emplace(shape, op.tiles->program(shape).macs()).first->second;
        }
      }
    }
    return sum;
  }
  std::uint32_t number(const std::string& name) const {
    for (std::uint32_t i = 0; i < operators.size(); ++i) {
      if (operators[i].name == name) {
        return i;
      }
    }
    throw InternalError("there is no operator " + name);
  }
  // Whether one operator waits for another, directly or through others.
  bool waits(const std::string& later, const std::string& earlier) const {
    std::set<std::uint32_t> open{number(later)};
    const std::uint32_t wanted = number(earlier);
    while (!open.empty()) {
      const std::uint32_t at = *open.rbegin();
      open.erase(at);
      if (at == wanted) {
        return true;
      }
      open.insert(operators[at].after.begin(), operators[at].after.end());
    }
    return false;
  }
  Bytes loaded_and_stored(const std::string& name) const {
    Bytes sum;
    for (const npu::Operand& operand : operators[number(name)].tiles->operands()) {
      sum += operand.bytes;
    }
    return sum;
  }
};

inline std::unique_ptr<Lowered> lower(onnx::Graph graph, bool drain = false,
                                      const char* core = npu::testing::mobile,
                                      std::optional<DataType> data_type = std::nullopt,
                                      const std::set<std::string>& free = {}) {
  auto lowered = std::make_unique<Lowered>();
  lowered->core = npu::testing::core_from(core);
  lowered->graph = std::move(graph);
  lowered->operators = lower_graph(lowered->graph, {lowered->core, 4, data_type, drain, free});
  return lowered;
}

// Both ways of counting, and the graph's.
inline void expect_all_macs(const Lowered& lowered) {
  const std::uint64_t graph = onnx::total_cost(lowered.graph).matrix.count() / 2;
  EXPECT_EQ(lowered.macs(), graph);
  EXPECT_EQ(lowered.macs_of_tiles(), graph);
}

}  // namespace tessera::sim::testing
