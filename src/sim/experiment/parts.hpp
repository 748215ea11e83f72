// The parts of an experiment, each in a file of its own or inline.
#pragma once

#include <array>
#include <string_view>

#include "tessera/config/document.hpp"

namespace tessera::sim {

inline constexpr std::array<const char*, 3> experiment_parts{"machine", "workload", "strategy"};

// The value of a key; null: the mapping is null, or has none.
inline config::Value* value_of(config::Value* mapping, std::string_view key) {
  if (mapping != nullptr) {
    for (config::Value::Member& member : mapping->members) {
      if (member.key == key) {
        return &member.value;
      }
    }
  }
  return nullptr;
}

}  // namespace tessera::sim
