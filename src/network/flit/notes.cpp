#include "flit/notes.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace tessera::network {
namespace {

// Where latencies are longer, or all rates lower, than they were asked for by more than 1 %.
void note_whole_cycles(const FlitSettings& settings, const std::vector<LinkTiming>& timings,
                       const machine::Topology& topology, std::vector<std::string>& notes) {
  constexpr double much = 1.01;
  const SimTime cycle = settings.cycle;
  double fastest = 0;
  for (std::size_t number = 0; number < topology.link_classes().size(); ++number) {
    const machine::LinkClass& one = topology.link_classes()[number];
    fastest = std::max(fastest, static_cast<double>(one.bandwidth.bytes_per_second()));
    const SimTime latency = cycle * std::int64_t{timings[number].cycles};
    if (static_cast<double>(latency.ps()) > much * static_cast<double>(one.latency.ps())) {
      notes.push_back("links of class '" + one.name + "' have a latency of " + to_string(latency) +
                      ", rounded up to whole cycles of " + to_string(cycle) + ", instead of " +
                      to_string(one.latency) + " (machine.network.flit_size)");
    }
  }
  const double exact = static_cast<double>(settings.flit_bytes) * 1e12 / fastest;
  if (fastest > 0 && static_cast<double>(cycle.ps()) > much * exact) {
    notes.push_back("a cycle takes " + to_string(cycle) +
                    ", rounded up to whole picoseconds: all links carry " +
                    std::to_string(std::lround(100 * exact / static_cast<double>(cycle.ps()))) +
                    " % of their bandwidth (machine.network.flit_size)");
  }
}

// A virtual channel carries as many flits in a round trip of credits as it has buffers.
void note_buffers(const FlitSettings& settings, const std::vector<LinkTiming>& timings,
                  const machine::Topology& topology, std::vector<std::string>& notes) {
  for (std::size_t number = 0; number < topology.link_classes().size(); ++number) {
    const LinkTiming& timing = timings[number];
    const auto round_trip = static_cast<double>(settings.credit_round_trip(timing.cycles));
    const double flits =
        round_trip * (std::uint64_t{1} << interval_bits) / static_cast<double>(timing.interval);
    if (settings.buffer < flits) {
      const auto share = [&](double buffers) {
        return std::to_string(std::lround(std::min(100.0, 100 * buffers / flits))) + " %";
      };
      notes.push_back("links of class '" + topology.link_classes()[number].name + "' have " +
                      std::to_string(std::lround(flits)) +
                      " flits in a round trip, but a virtual channel has " +
                      std::to_string(settings.buffer) + " buffers: one stream gets at most " +
                      share(settings.buffer) + " of the bandwidth, all virtual channels together " +
                      share(1.0 * settings.buffer * settings.vcs) + " (machine.network.buffer)");
    }
  }
}

}  // namespace

std::vector<std::string> notes_on(const FlitSettings& settings,
                                  const std::vector<LinkTiming>& timings,
                                  const machine::Topology& topology) {
  std::vector<std::string> notes;
  note_whole_cycles(settings, timings, topology, notes);
  note_buffers(settings, timings, topology, notes);
  return notes;
}

}  // namespace tessera::network
