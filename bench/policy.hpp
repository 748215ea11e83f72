// The synchronisation policies by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tessera/comm/communicator.hpp"
#include "tessera/pdes/sync_policy.hpp"

namespace tessera::bench {

const std::vector<std::string>& policy_names();

// `delays` as in pdes::Regions. Throws InternalError on a name that is not in the list.
std::unique_ptr<pdes::SyncPolicy> make_policy(const std::string& name,
                                              comm::Communicator& communicator,
                                              std::vector<SimTime> delays);

}  // namespace tessera::bench
