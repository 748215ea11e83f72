#include "flit/idle_time.hpp"

#include <algorithm>
#include <cstdint>

namespace tessera::network {

SimTime carry_time(const FlitSettings& settings, const machine::Path& path, Bytes bytes) {
  const SimTime on_wire = serialization_time(bytes, path.bottleneck);
  if (path.hops == 0 || bytes == Bytes(0)) {
    return on_wire;
  }
  const auto whole = [](std::uint64_t number, std::uint64_t unit) {
    return (number + unit - 1) / unit;
  };
  const std::uint64_t flits = whole(bytes.count(), settings.flit_bytes);
  const std::uint64_t packets = whole(flits, settings.packet_flits);
  const std::uint64_t last = flits - (packets - 1) * settings.packet_flits;
  const std::uint64_t in_fullest =
      (whole(packets, settings.vcs) - 1) * settings.packet_flits +
      (packets % settings.vcs == 1 % settings.vcs ? last : settings.packet_flits);
  // The node sends the next packet when the one before is in the buffers of its router and of the
  // next one.
  const std::uint64_t rounds = whole(settings.packet_flits, settings.buffer);
  const std::uint64_t of_node = (packets - 1) * (rounds - std::min<std::uint64_t>(rounds, 2)) +
                                whole(last, settings.buffer) - 1;
  const std::uint64_t rounds_before = std::max(whole(in_fullest, settings.buffer) - 1, of_node);
  const std::uint64_t before = rounds_before * settings.buffer;
  const std::uint64_t behind =
      std::max<std::uint64_t>(in_fullest - std::min(in_fullest - 1, before),
                              flits - std::min(flits, before * settings.vcs));
  const auto link_cycles =
      static_cast<std::int64_t>(whole(static_cast<std::uint64_t>(path.longest.ps()),
                                      static_cast<std::uint64_t>(settings.cycle.ps())));
  const SimTime waiting = settings.cycle * settings.credit_round_trip(link_cycles) *
                          static_cast<std::int64_t>(rounds_before);
  const Bytes in_the_end(std::min(bytes.count(), behind * settings.flit_bytes));
  return std::max(on_wire, waiting + serialization_time(in_the_end, path.bottleneck));
}

}  // namespace tessera::network
