// Work that no strategy cuts.
#pragma once

#include <string>

#include "tessera/config/document.hpp"

namespace tessera::sim {

// Complains of the keys `strategy` and `execution` of a job or experiment that has neither; `why`
// says what it is.
void refuse_cutting(config::Section& job, const std::string& why);

}  // namespace tessera::sim
