// Tensors of graphs of vertices, and which of them the memory of each NPU holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/core/units.hpp"

namespace tessera::workload {

// Where NPUs can have tensors, as the machine says.
struct NpuMemories {
  struct Kind {
    std::string type;  // of the NPU; empty: of no type
    Bytes capacity;    // of its own memory; 0: not stated
  };
  struct Holder {
    std::string name;
    Bytes capacity;  // 0: unlimited
  };

  std::vector<Kind> kinds;
  std::vector<std::uint32_t> kind_of;  // [npus]
  // Memories for what NPUs' own do not hold; none: there is no such memory.
  std::vector<Holder> holders;
  std::vector<std::uint32_t> holder_of;  // [npus], or empty with `holders`
};

struct Tensor {
  std::string name;
  Bytes bytes;
  bool everywhere = false;
  std::vector<std::uint32_t> places;  // NPUs, sorted, unless everywhere
  std::int64_t priority = 0;
};

// Of all tensors; each NPU that has a tensor has one of its own.
struct TensorPlacement {
  enum class Home : std::uint8_t { none, local, remote };
  // NPUs that hold the same.
  struct Class {
    std::uint32_t kind = 0;  // of NpuMemories
    std::uint32_t npus = 0;
    std::vector<Home> homes;  // [tensors]
    Bytes local;
    Bytes remote;
  };

  std::vector<Tensor> tensors;
  NpuMemories memories;
  std::vector<Class> classes;           // by their first NPU
  std::vector<std::uint32_t> class_of;  // [npus]
  std::vector<Bytes> held;              // [holders]
};

}  // namespace tessera::workload
