// The `channel` memory, made by its model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "tessera/core/time.hpp"
#include "tessera/core/units.hpp"
#include "tessera/machine/arbitration.hpp"
#include "tessera/memory/memory.hpp"

namespace tessera::memory {

struct ChannelParameters {
  Bytes burst{64 * 1024};
  std::uint64_t max_bursts = 16;
  Bytes request{64};
  machine::Arbitration arbitration = machine::Arbitration::first_come;

  friend bool operator==(const ChannelParameters&, const ChannelParameters&) = default;
  bool is_fair() const { return arbitration != machine::Arbitration::first_come; }

  // Bursts of an access, none empty but the only one.
  std::uint64_t bursts_of(std::uint64_t bytes) const {
    const std::uint64_t wanted = bytes / burst.count() + (bytes % burst.count() != 0 ? 1 : 0);
    return std::clamp<std::uint64_t>(wanted, 1, max_bursts);
  }
  // Sizes differ by a byte at most, the larger ones last: the last burst, which ends the access,
  // overtakes none even on a network where smaller messages are faster.
  static std::uint64_t burst_bytes(std::uint64_t bytes, std::uint64_t count, std::uint64_t burst) {
    return bytes / count + (burst >= count - bytes % count ? 1 : 0);
  }
};

// Of one channel.
struct ChannelState {
  SimTime free_at;
  std::int64_t busy_ps = 0;
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::int64_t longest_wait_ps = 0;
};

// What a channel had done when the last bin ended, and the longest wait since.
struct ChannelBin {
  std::int64_t busy_ps = 0;
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  std::int64_t longest_wait_ps = 0;
};

std::unique_ptr<Memory> make_channel_memory(const MemorySetup& setup,
                                            const ChannelParameters& parameters);

// That a memory keeps of each channel of the machine.
std::size_t channel_bytes();

}  // namespace tessera::memory
