// Drives a DRAM with a pattern of requests, outside of any machine, and measures it.
//
// Requests are made in order; one that its channel does not accept holds back those after it. Every
// cycle as many are made as are accepted, or as `outstanding`, `per_cycle` and `interval` allow.
// The latency of a request counts the cycles from its submission to the end of the cycle in which
// it is done, both included.
#pragma once

#include <cstdint>
#include <string>

#include "tessera/memory/dram/channel.hpp"

namespace tessera::memory {

enum class DramPattern : std::uint8_t {
  stream,         // one burst after the other
  random,         // bursts anywhere
  conflict,       // rows of one bank, one after the other
  conflict_each,  // the same in every channel in turn
  hit,            // one row over and over
};

struct DramDrive {
  DramPattern pattern = DramPattern::stream;
  std::uint64_t requests = 100'000;
  std::uint64_t outstanding = 0;              // at most; 0: as many as are accepted
  std::uint64_t per_cycle = 0;                // at most; 0: as many as are accepted
  Cycle first = 0;                            // cycle of the first one; refresh counts from cycle 0
  Cycle interval = 0;                         // at least so many cycles from one to the next
  Fraction writes = Fraction::millionths(0);  // drawn for each request
  // Each channel gets its requests on its own: one that is full holds back no other.
  bool by_channel = false;
  std::uint64_t seed = 1;
};

struct DramMeasure {
  Cycle first = 0;   // DramDrive::first
  Cycle cycles = 0;  // from cycle 0 to the end of the last request
  std::uint64_t requests = 0;
  std::uint64_t latency_sum = 0;  // [cycles]
  Cycle latency_most = 0;
  DramCounts counts;

  double mean_latency() const {
    return static_cast<double>(latency_sum) / static_cast<double>(requests);
  }
  // From the first request on.
  Cycle duration() const { return cycles - first; }
  // Of the data buses' time in that.
  double utilization(const DramSpec& spec) const;
};

DramMeasure drive_dram(const DramSpec& spec, const DramDrive& drive);

}  // namespace tessera::memory
