// Keys and values that replicas which compute prompts hand over to those that generate.
#include <algorithm>
#include <utility>
#include <vector>

#include "serving/host/host.hpp"
#include "serving/messages.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {
namespace {

// Of units that have sequences of their own these are dealt by number.
bool has_cache_of(const ServiceSettings& tenant, std::uint64_t request, std::size_t unit) {
  const std::uint32_t units = tenant.batching.units;
  return units == 1 || request % units == unit;
}

}  // namespace

// Of those that generate, the one whose requests have the fewest tokens of prompts.
std::uint32_t ServingHost::choose_generating(pdes::Context& context, std::uint32_t lead) {
  advance_scaling(context, lead);
  const ServiceSettings& tenant = work_.tenants[lead];
  const auto work = [this](std::uint32_t replica) {
    return std::pair(tenants_[replica].prompt_tokens, tenants_[replica].batcher->unfinished());
  };
  std::uint32_t best = lead + tenant.prefill;
  for (std::uint32_t replica = best + 1; replica < lead + tenant.replicas; ++replica) {
    best = takes_requests(replica) && work(replica) < work(best) ? replica : best;
  }
  return best;
}

void ServingHost::expect(pdes::Context& context, std::uint32_t to) {
  ++tenants_[to].coming;
  scale(context, to);
}

// Each unit sends what it has to its like.
void ServingHost::begin_carry(pdes::Context& context, std::uint32_t from,
                              const serving::Carried& carried) {
  const ServiceSettings& tenant = work_.tenants[from];
  if (tenant.by_layers) {
    know_computed(from, carried);
    return;
  }
  const std::uint32_t to = choose_generating(context, tenant.lead);
  const std::uint32_t number = next_carry_++;
  carries_[number] = {carried, to, from};
  tenants_[to].prompt_tokens += carried.what.prompt;
  expect(context, to);
  const std::uint16_t slot = take_slot({number, carry_part});
  const Bytes bytes = tenant.model->cache_of_prompt(carried.what.prompt);
  for (std::size_t unit = 0; unit < tenant.npus.size(); ++unit) {
    if (!has_cache_of(tenant, carried.request, unit)) {
      continue;
    }
    ++slots_[slot].outstanding;
    const CarryOf carry{work_.tenants[to].npus[unit], bytes.count(), false, false};
    say(context, work_.npus[tenant.npus[unit]].front(), serving_carry_kind, slot, carry.word());
    carried_bytes_ += bytes.count();
  }
}

void ServingHost::end_carry(pdes::Context& context, std::uint32_t number) {
  const auto found = carries_.find(number);
  const Carry& carry = found->second;
  TenantState& state = tenants_[carry.to];
  --state.coming;
  state.counts.take_over(carry.what.what);
  state.batcher->take_over(carry.what);
  hold(context, carry.to);
  const std::uint32_t lead = work_.tenants[carry.to].lead;
  carries_.erase(found);
  scale(context, lead);
}

std::vector<std::uint32_t> ServingHost::begin_layers(pdes::Context& context, std::uint32_t number,
                                                     std::uint16_t slot,
                                                     const serving::StepSizes& sizes) {
  const std::uint32_t from = steps_.at(number).tenant;
  const ServiceSettings& tenant = work_.tenants[from];
  if (!tenant.by_layers || !work_.prefills(from)) {
    return {};
  }
  const serving::TileModel& model = *tenant.model->on_tiles();
  std::vector<std::uint32_t> requests(tenant.npus.size());
  for (const std::uint64_t request : tenants_[from].batcher->ending(number)) {
    const serving::Request whole = tenant.requests->untimed(request);
    if (whole.generate < 2) {
      continue;
    }
    const std::uint32_t carry = next_carry_++;
    const std::uint32_t to = choose_generating(context, tenant.lead);
    carries_[carry].to = to;
    carries_[carry].from = from;
    carries_[carry].what.request = request;
    layered_.try_emplace(carry);
    tenants_[to].prompt_tokens += whole.prompt;
    expect(context, to);
    const std::uint16_t place = take_slot({carry, carry_part});
    for (std::uint32_t unit = 0; unit < tenant.npus.size(); ++unit) {
      if (!has_cache_of(tenant, request, unit) || model.layers_in(model.walk(unit, sizes)) == 0) {
        continue;
      }
      ++requests[unit];
      ++slots_[place].outstanding;
      const CarryOf told{work_.tenants[to].npus[unit], LayersOf{whole.prompt, slot}.bytes(), true,
                         false};
      say(context, work_.npus[tenant.npus[unit]].front(), serving_carry_kind, place, told.word());
      carried_bytes_ += model.all_handed_over(model.walk(unit, sizes), whole.prompt).count();
    }
  }
  return requests;
}

void ServingHost::know_computed(std::uint32_t from, const serving::Carried& carried) {
  for (auto& [number, layered] : layered_) {
    Carry& carry = carries_.at(number);
    if (carry.from == from && carry.what.request == carried.request) {
      carry.what = carried;
      layered.is_computed = true;
      return;
    }
  }
  throw InternalError("a prompt was computed whose layers nobody sent");
}

void ServingHost::end_layers(pdes::Context& context, std::uint32_t from) {
  std::vector<std::uint32_t> over;
  for (const auto& [number, layered] : layered_) {
    if (carries_.at(number).from == from && layered.is_computed && layered.has_come) {
      over.push_back(number);
    }
  }
  for (const std::uint32_t number : over) {
    layered_.erase(number);
    end_carry(context, number);
  }
}

// All units have what they were to get.
void ServingHost::hear_of_carry(pdes::Context& context, std::uint32_t number) {
  const auto layered = layered_.find(number);
  if (layered != layered_.end() && !layered->second.is_computed) {
    layered->second.has_come = true;
    return;
  }
  if (layered != layered_.end()) {
    layered_.erase(layered);
  }
  end_carry(context, number);
  go_on(context);
}

// Whether a replica has all requests that it will ever have.
bool ServingHost::nothing_comes(std::uint32_t replica) const {
  const ServiceSettings& tenant = work_.tenants[replica];
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
