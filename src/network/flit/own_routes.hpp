// The machine's own routes for flits, with virtual channels shared out against deadlock.
#pragma once

#include <memory>
#include <string>

#include "flit/routes.hpp"

namespace tessera::network {

// See make_flit_routes.
std::unique_ptr<FlitRoutes> make_own_routes(const machine::Topology& topology,
                                            const std::string& routing, unsigned vcs,
                                            std::string& problem);

}  // namespace tessera::network
