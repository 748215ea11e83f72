// How long tiles take for operators of served models, each shape once.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "tessera/executor/serving/serving.hpp"

namespace tessera::executor {

struct OperatorTime {
  SimTime time;  // on a tile of full speed
  Bytes read;    // from memory meanwhile, as SRAM does not hold it
  Bytes written;
  Bytes operands;  // that it moves where they are in DRAM (machine::Tile::operands_in_dram)
};

class OperatorTimes {
 public:
  explicit OperatorTimes(const ServingSetup& setup) : setup_(setup) {}

  const OperatorTime& of(std::uint32_t tenant, std::uint32_t op, const serving::StepSizes& sizes,
                         EntityId node);
  // The same, kept until another step asks: of operators that are hardly ever the same.
  const OperatorTime& of_step(std::uint32_t tenant, std::uint32_t op,
                              const serving::StepSizes& sizes, EntityId node);
  std::size_t resident_bytes() const {
    return known_.size() * of_entry + latest_.size() * of_latest;
  }

 private:
  // Tenant, kind, what the kind depends on, type of the tile.
  using Key = std::tuple<std::uint32_t, std::uint32_t, serving::StepSizes, std::uint16_t>;
  // Tenant, operator, type of the tile.
  using LatestKey = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t>;
  struct Latest {
    serving::StepSizes needed;
    OperatorTime time;
  };
  static constexpr std::size_t most_kept = 100'000;
  static constexpr std::size_t of_node = 48;  // of a map, beside what it holds
  static constexpr std::size_t of_entry = sizeof(Key) + sizeof(OperatorTime) + of_node;
  static constexpr std::size_t of_latest = sizeof(LatestKey) + sizeof(Latest) + of_node;

  std::uint16_t type_of(EntityId node) const;
  OperatorTime make(std::uint32_t tenant, std::uint32_t op, const serving::StepSizes& sizes,
                    EntityId node) const;

  ServingSetup setup_;
  std::map<Key, OperatorTime> known_;
  std::map<LatestKey, Latest> latest_;
};

}  // namespace tessera::executor
