// What the programs that run SimGrid share: its settings, and what they print.
#pragma once

#include <simgrid/s4u.hpp>

#include <cmath>
#include <cstdint>
#include <exception>
#include <iomanip>
#include <iostream>

#include "cost.hpp"

namespace tessera::bench {

// Plain max-min shares: CM02 without its corrections for TCP.
inline void set_plain(simgrid::s4u::Engine& engine) {
  for (const char* setting :
       {"network/model:CM02", "network/TCP-gamma:0", "network/crosstraffic:0",
        "network/latency-factor:1", "network/bandwidth-factor:1", "network/weight-S:0"}) {
    engine.set_config(setting);
  }
}

inline void print(std::uint64_t flows, const Cost& cost) {
  std::cout << std::setprecision(17) << "{\"flows\": " << flows
            << ", \"simulated_ps\": " << std::llround(simgrid::s4u::Engine::get_clock() * 1e12)
            << ", \"cpu_s\": " << cost.cpu_s << ", \"wall_s\": " << cost.wall_s
            << ", \"peak_memory\": " << cost.peak_memory << "}" << std::endl;
}

template <class Run>
int guarded(const Run& run) {
  try {
    run();
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << std::endl;
    return 2;
  }
}

}  // namespace tessera::bench
