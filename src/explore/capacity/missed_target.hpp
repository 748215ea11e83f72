// Which target a service misses most, and by how much.
#pragma once

#include <string>
#include <vector>

#include "tessera/config/document.hpp"
#include "tessera/trace/summary.hpp"

namespace tessera::explore {

// Of the tenants (or of classes of their requests) in a configuration's list, null for none, and
// how they fared: the target that the `share` of requests misses by the largest factor, in a
// sentence. Empty: they miss none by itself.
std::string missed_target(const config::Value* tenants, const std::vector<trace::Service>& services,
                          double share);

}  // namespace tessera::explore
