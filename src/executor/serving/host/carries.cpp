// Keys and values that replicas which compute prompts hand over to those that generate.
#include <algorithm>
#include <utility>

#include "serving/host/host.hpp"
#include "serving/messages.hpp"

namespace tessera::executor {

// Of those that generate, the one whose requests have the fewest tokens of prompts.
std::uint32_t ServingHost::choose_generating(std::uint32_t lead) const {
  const ServedTenant& tenant = work_.tenants[lead];
  const auto work = [this](std::uint32_t replica) {
    return std::pair(tenants_[replica].prompt_tokens, tenants_[replica].batcher->unfinished());
  };
  std::uint32_t best = lead + tenant.prefill;
  for (std::uint32_t replica = best + 1; replica < lead + tenant.replicas; ++replica) {
    best = work(replica) < work(best) ? replica : best;
  }
  return best;
}

// Each unit sends what it has to its like.
void ServingHost::begin_carry(pdes::Context& context, std::uint32_t from,
                              const serving::Carried& carried) {
  const ServedTenant& tenant = work_.tenants[from];
  const std::uint32_t to = choose_generating(tenant.lead);
  const std::uint32_t number = next_carry_++;
  carries_[number] = {carried, to};
  tenants_[to].prompt_tokens += carried.what.prompt;
  const std::uint16_t slot = take_slot({number, carry_part});
  slots_[slot].outstanding = static_cast<std::uint32_t>(tenant.npus.size());
  const Bytes bytes = tenant.model->cache_of_token() * carried.what.prompt;
  for (std::size_t unit = 0; unit < tenant.npus.size(); ++unit) {
    const CarryOf carry{work_.tenants[to].npus[unit], bytes.count(), false};
    say(context, work_.npus[tenant.npus[unit]].front(), serving_carry_kind, slot, carry.word());
    carried_bytes_ += bytes.count();
  }
}

void ServingHost::end_carry(pdes::Context& context, std::uint32_t number) {
  const auto found = carries_.find(number);
  const Carry& carry = found->second;
  TenantState& state = tenants_[carry.to];
  state.counts.take_over(carry.what.what);
  state.batcher->take_over(carry.what);
  hold(context, carry.to);
  carries_.erase(found);
}

// Whether a replica has all requests that it will ever have.
bool ServingHost::nothing_comes(std::uint32_t replica) const {
  const ServedTenant& tenant = work_.tenants[replica];
  if (tenant.prefill == 0 || work_.prefills(replica)) {
    return true;
  }
  std::uint64_t there = 0;
  for (std::uint32_t other = tenant.lead + tenant.prefill; other < tenant.lead + tenant.replicas;
       ++other) {
    there += tenants_[other].batcher->unfinished();
  }
  return there == tenants_[tenant.lead].left;
}

}  // namespace tessera::executor
