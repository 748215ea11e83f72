// Writes the program of one stage.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "occasion.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/workload/operation_hash.hpp"

namespace tessera::plan {

// Names of instructions, each kept once.
class NameTable {
 public:
  std::uint16_t operator()(const std::string& name);
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::map<std::string, std::uint16_t> numbers_;
  std::vector<std::string> names_;
};

// Operations of instructions, each kept once: two are one where they are equal in all that compute
// models look at, also in their class of kernel.
class OperationTable {
 public:
  std::uint32_t operator()(const workload::Operation& operation);
  std::vector<workload::Operation> take() { return std::move(operations_); }

 private:
  std::unordered_map<workload::Operation, std::uint32_t, workload::OperationHash> numbers_;
  std::vector<workload::Operation> operations_;
};

// What programs of all stages share.
struct Tables {
  NameTable names;
  OperationTable operations;
  std::vector<GroupShape> groups;
  std::vector<std::uint32_t> tied_stages;

  // The group of this shape, among the parts of the tensor group.
  Group group_of(const GroupShape& shape);
};

// Times that a program holds, for a stage.
struct GroupEstimates {
  collective::Overhead collective;
  // Time of a collective over a group that is not simulated.
  std::function<SimTime(std::uint32_t stage, Group group, const GroupShape& shape,
                        collective::Kind kind, Bytes bytes, Occasion occasion)>
      collective_time;
  // How many times its message to another stage takes the busiest link, for all it stands for; the
  // leaders of groups of the shape send.
  std::function<std::uint32_t(std::uint32_t stage, std::uint32_t other, const GroupShape& shape)>
      boundary_share;
  // How many times the bytes of a simulated collective are on its links, for all it stands for.
  std::function<double(std::uint32_t stage, Group group, const GroupShape& shape,
                       collective::Kind kind)>
      group_share;
  // For how much of that time bytes are on its links, which another would share.
  std::function<SimTime(std::uint32_t stage, Group group, const GroupShape& shape,
                        collective::Kind kind, Bytes bytes, Occasion occasion)>
      on_links;
  // Where activations wait, if they do.
  machine::Host host{};
};

// The program of stage `number`, with layers and memory as decided. `sram`: of a tile.
Program build_program(const workload::Workload& workload, const Strategy& strategy,
                      std::uint32_t number, const Stage& stage, Bytes sram,
                      const GroupEstimates& estimates, Tables& tables);

}  // namespace tessera::plan
