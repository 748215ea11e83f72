// Processor time and memory of this process.
#pragma once

#include <chrono>
#include <cstdint>

namespace tessera::bench {

// Processor time a rank has used [s]: of its thread where ranks are threads, else of the process.
class CpuClock {
 public:
  explicit CpuClock(bool ranks_are_threads) : of_thread_(ranks_are_threads) {}
  double seconds() const;

 private:
  bool of_thread_;
};

// Peak resident memory of this process [B] since it was last forgotten. Forgetting needs
// /proc/self/clear_refs; without it, the peak is that of the whole life of the process.
void forget_peak_memory();
std::uint64_t peak_memory_bytes();
// Resident memory of this process now [B], without what was freed.
std::uint64_t present_memory_bytes();

// What a piece of work cost.
struct Cost {
  double cpu_s = 0;
  double wall_s = 0;
  std::uint64_t peak_memory = 0;  // [B]
};

// Calls `work` and says what it cost.
template <class Work>
Cost cost_of(bool ranks_are_threads, const Work& work) {
  using WallClock = std::chrono::steady_clock;
  const CpuClock cpu(ranks_are_threads);
  const double cpu_before = cpu.seconds();
  const auto before = WallClock::now();
  work();
  Cost cost;
  cost.wall_s = std::chrono::duration<double>(WallClock::now() - before).count();
  cost.cpu_s = cpu.seconds() - cpu_before;
  cost.peak_memory = peak_memory_bytes();
  return cost;
}

}  // namespace tessera::bench
