#include "tessera/pdes/sync_policy.hpp"

namespace tessera::pdes {

Registry<SyncPolicyMaker>& sync_policies() {
  static Registry<SyncPolicyMaker> registry("synchronization");
  return registry;
}

}  // namespace tessera::pdes
