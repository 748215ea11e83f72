// Operators on a chip: all computing nodes of a machine are cores that share each operator.
//
// An operator begins when those it comes after are over. Each core then does its share of the tiles
// (npu/messages.hpp), group by group in turn; the first core of the machine hears from all and
// begins what may. Cores that take part are told by a message over the machine's network, and tell
// by one when they are over, so that a dependency costs what it costs there. Operators that do not
// depend on each other share the cores, in the order of the list.
//
// With the number of an operator the core that has its first tiles moves on by one, so that what is
// over when tiles are dealt out does not always fall to the same cores (ONNXim); or it is said for
// an operator.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/core/data_type.hpp"
#include "tessera/core/units.hpp"
#include "tessera/executor/program/executor.hpp"
#include "tessera/npu/tiled_operator.hpp"

namespace tessera::executor {

struct ChipOperator {
  std::string name;
  std::unique_ptr<npu::TiledOperator> tiles;
  std::vector<std::uint32_t> after;           // operators before it in the list
  std::optional<std::uint32_t> first_core{};  // that has its first tiles; none: by its number
  std::optional<Flops> flops{};  // of the model that it is a part of; none: those of its tiles
};

struct ChipWork {
  npu::CoreConfig core;  // that the operators refer to
  std::vector<ChipOperator> operators;
  std::vector<EntityId> cores;
  std::vector<std::string> names;      // of operators, by name number
  std::vector<std::uint16_t> name_of;  // [operators]
  Bytes message = Bytes(64);           // that begins or ends a share
  std::uint64_t first_address = 0;     // of operands in memory, which other chips may share
  DataType data_type = DataType::fp16;

  std::uint64_t shares() const;
  // That go over the network in one iteration, to cores other than the first and back.
  std::uint64_t messages() const;
  // Of an operator; none when it is less than the core's number of groups.
  std::uint32_t first_group(std::uint32_t number, std::uint32_t place) const;
  bool takes_part(std::uint32_t number, std::uint32_t place) const {
    return first_group(number, place) < operators[number].tiles->groups();
  }
};

struct ChipSetup {
  const machine::Machine& machine;
  const ChipWork& work;
  std::span<const EntityId> members;  // outlives the executor
  std::uint32_t iterations = 1;
  unsigned slot = 0;
  unsigned network_slot = 0;
  unsigned compute_slot = 0;
  Observer* observer = nullptr;  // not owned; may be null
  OutlookSetup outlook;          // `least_duration` is of a core's share of an operator
};

// TileResult::role is the core's number.
std::unique_ptr<Executor> make_chip_executor(const ChipSetup& setup);

}  // namespace tessera::executor
