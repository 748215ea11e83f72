// What a run says of how served models lie on NPUs.
#pragma once

#include <string>
#include <vector>

#include "tessera/executor/serving/serving.hpp"
#include "tessera/sim/platform.hpp"

namespace tessera::sim {

// Adds that some NPUs have no model, and that models which share some each pay for the whole of
// them, where they have a price.
void note_npus(const executor::ServingWork& work, std::vector<std::string>& notes);

// Where messages wait for each other at ports: adds what whole steps leave out of that.
void note_ports(const executor::ServingWork& work, std::vector<std::string>& notes);

// Where whole steps stream from memory channels: adds who shares one, and what that leaves out.
void note_channels(const Platform& platform, const executor::ServingWork& work,
                   std::vector<std::string>& notes);

}  // namespace tessera::sim
