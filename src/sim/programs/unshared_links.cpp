#include "programs/unshared_links.hpp"

#include "notes/library_note.hpp"
#include "notes/rounded_time.hpp"
#include "programs/job.hpp"
#include "programs/library_use.hpp"
#include "tessera/core/text.hpp"
#include "tessera/network/network.hpp"
#include "tessera/network/sharing.hpp"

namespace tessera::sim {
namespace {

// With one tile a stage, in the places of the plan.
SimTime time_of(const Platform& platform, const workload::Workload& workload,
                const plan::Plan& plan, plan::Sharing sharing) {
  plan::Strategy strategy = plan.strategy;
  strategy.aggregation = plan::Aggregation::stage;
  strategy.check_capacity = false;
  if (strategy.layout == "optimized") {
    strategy.placement.tiles = plan.placement.tiles();
  }
  // What is shared is in the programs then.
  return estimated_iteration(platform, plan_of(platform, workload, strategy, sharing),
                             plan::Sharing::nothing);
}

}  // namespace

void note_unshared_links(const Platform& platform, const workload::Workload& workload,
                         const plan::Plan& plan, std::vector<std::string>& notes) {
  const plan::Sharing sharing = network::sharing_of(*platform.network);
  if (sharing == plan::Sharing::links) {
    return;
  }
  if (sharing == plan::Sharing::nothing && plan.strategy.aggregation != plan::Aggregation::none &&
      platform.network->overheads().library.is_named() && has_collectives(plan)) {
    notes.push_back(
        "machine.network.library has no effect where messages do not contend for links "
        "(machine.network.ports: free)" +
        unused_with_library(*platform.network));
  }
  if (plan.has_mixed_stages()) {
    return;  // no closed form with one tile for each stage
  }
  const SimTime own = time_of(platform, workload, plan, sharing);
  const SimTime shared = time_of(platform, workload, plan, plan::Sharing::links);
  if (own > SimTime::zero() && (shared - own) * 100 >= own) {
    notes.push_back(
        "messages do not contend for all links of their routes: if those of collectives and "
        "between stages did, an iteration would take about " +
        rounded(shared - own) + " longer, " + rounded(shared) + " instead of " + rounded(own) +
        " in closed form (machine.network.model: packet or flow)");
  }
}

}  // namespace tessera::sim
