// What a device draws, by what it does.
#pragma once

#include <optional>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/core/registry.hpp"

namespace tessera::machine {

// P = idle + host + compute * (share of time that it computes) + memory * (share of its memory's
// peak bandwidth that it uses) + link * (share of time that it waits for messages); in watts, a
// device. A linear model, as measurements of whole servers are fitted.
struct Power {
  double idle_w = 0;
  double compute_w = 0;
  double memory_w = 0;
  double link_w = 0;
  double host_w = 0;  // of the server, its processors, fans and NICs: the device's part

  // Shares are of the time that is asked about, each between 0 and 1.
  double watts(double computes, double memory_use, double communicates) const {
    return idle_w + host_w + compute_w * computes + memory_w * memory_use + link_w * communicates;
  }
};

// Reads the section `power` of a machine:
//   power: {idle: 70, compute: 500, memory: 80, link: 30, host: 240}
// Nothing where there is none. Leaves complaints in the section's diagnostics.
std::optional<Power> read_power(config::Section& machine);
std::vector<ParameterInfo> power_parameters();

}  // namespace tessera::machine
