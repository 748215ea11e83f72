#include "tessera/machine/parameters.hpp"

#include "tessera/core/data_type.hpp"
#include "tessera/core/text.hpp"

namespace tessera::machine {

std::vector<ParameterInfo> tile_parameters() {
  return {{"peak", "FLOP/s", "",
           "a mapping from data types to dense rates; types: " + join(data_type_names())},
          {"efficiency", "", "1", "share of the peak that is reached, by all operators"},
          {"sram", "B", "0 B", "capacity; 0: not stated, all fits"},
          {"sram_bandwidth", "B/s", "0 B/s", "to the core; 0: never the limit"},
          {"operands", "", "sram",
           "sram; or dram: in the tile's own DRAM channel while operations run"}};
}

std::vector<ParameterInfo> dram_parameters() {
  return {{"at", "", "",
           "edge, each (computing node), memories (nodes of that kind), nodes (listed) or none"},
          {"edges", "", "", "for edge: some of west, east, north, south"},
          {"nodes", "", "", "for nodes: numbers or names of nodes"},
          {"bandwidth", "B/s", "", "of one channel, shared by reads and writes"},
          {"latency", "ps", "", "response of an idle channel"},
          {"capacity", "B", "0 B", "of one channel; 0: not stated"},
          {"memories", "", "none",
           "for each: bandwidth and latency of a channel at each node of kind memory as well"}};
}

}  // namespace tessera::machine
