// DRAM of ONNXim's configurations.
#pragma once

#include <cstdint>
#include <string>

#include "numbers.hpp"
#include "source.hpp"
#include "text.hpp"

namespace tessera::migration::onnxim {

// The interconnect as far as memory meets it.
struct Port {
  std::int64_t request = 32;   // bytes of an access of the cores
  std::int64_t period_ps = 1;  // of the interconnect
};

struct Dram {
  YamlLines section;    // `memory`
  Bandwidth bandwidth;  // of all channels
  SimTime latency;
  std::string origin;
  bool splits_accesses = false;  // cores ask for less than a burst at a time
};

// Keys that begin with "dram". The file of Ramulator 2 is looked for beside the configuration,
// unless `named` is one.
Dram read_dram(Source& config, const std::string& named, const Port& port, Request& request,
               Migrated& migrated);

}  // namespace tessera::migration::onnxim
