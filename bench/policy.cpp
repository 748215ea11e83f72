#include "policy.hpp"

#include <utility>

#include "tessera/core/error.hpp"

namespace tessera::bench {

const std::vector<std::string>& policy_names() {
  static const std::vector<std::string> names{"window"};
  return names;
}

std::unique_ptr<pdes::SyncPolicy> make_policy(const std::string& name,
                                              comm::Communicator& communicator,
                                              std::vector<SimTime> delays) {
  ensure(name == "window", "a policy without a maker");
  return pdes::make_window_policy(communicator, std::move(delays));
}

}  // namespace tessera::bench
