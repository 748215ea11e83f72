// How much memory there is.
#pragma once

#include <cstdint>
#include <string>

namespace tessera {

struct MemoryThere {
  std::uint64_t most = 0;  // [B] that all processes together may hold, with swap; 0: not known
  std::uint64_t free = 0;  // [B] of it that could be had now
  std::string whose;       // "this machine", "the control group /job_17"
};

// What the machine has (proc(5), /proc/meminfo), or less where a control group of this process says
// so (memory.max of cgroup v2, memory.limit_in_bytes of v1, and those above it). What files are
// cached counts as free. `root`: where /proc and /sys are, for tests.
MemoryThere memory_there(const std::string& root = "");

}  // namespace tessera
