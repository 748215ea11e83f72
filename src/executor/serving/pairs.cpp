#include "serving/pairs.hpp"

#include <algorithm>

#include "tessera/executor/serving/serving.hpp"

namespace tessera::executor {

using serving::WalkPart;

serving::Exchange exchange_of(const ServiceSettings& tenant, const WalkPart& part) {
  return tenant.model->exchange(part.op, 1);
}

void visit_walks(const ServiceSettings& tenant, std::uint32_t unit,
                 const std::function<void(const serving::Walk&)>& visit) {
  for (const std::uint64_t emitting : {0U, 1U}) {
    serving::StepSizes sizes;
    sizes.tokens = 1;
    sizes.emitting = emitting;
    visit(tenant.model->on_tiles()->walk(unit, sizes));
  }
}

void visit_receivers(const ServiceSettings& tenant, std::uint32_t unit,
                     const std::function<void(std::uint32_t to, bool hands_on)>& visit) {
  visit_walks(tenant, unit, [&](const serving::Walk& walk) {
    for (const WalkPart& part : walk) {
      if (part.kind == WalkPart::Kind::operation || part.kind == WalkPart::Kind::await) {
        continue;
      }
      const serving::Exchange exchange = exchange_of(tenant, part);
      if (part.kind == WalkPart::Kind::hand_on) {
        visit(unit + exchange.units, true);
        continue;
      }
      for (std::uint32_t other = exchange.first; other < exchange.first + exchange.units; ++other) {
        visit(other, false);
      }
    }
  });
}

namespace {

EntityId node_of(const ServingWork& work, const ServiceSettings& tenant, std::uint32_t unit) {
  return work.npus[tenant.npus[unit]].front();
}

}  // namespace

bool serving_promises(const ServingWork& work) {
  return work.on_tiles &&
         std::none_of(work.tenants.begin(), work.tenants.end(), [](const ServiceSettings& tenant) {
           return tenant.tier || tenant.batching.adapter_slots > 0 || !tenant.of_language ||
                  tenant.streams();
         });
}

void visit_serving_pairs(const ServingWork& work,
                         const std::function<void(EntityId from, EntityId to)>& visit) {
  for (std::uint32_t number = 0; number < work.tenants.size(); ++number) {
    const ServiceSettings& tenant = work.tenants[number];
    const auto units = static_cast<std::uint32_t>(tenant.npus.size());
    for (std::uint32_t unit = 0; unit < units; ++unit) {
      const EntityId own = node_of(work, tenant, unit);
      if (own != work.host()) {
        visit(work.host(), own);
        visit(own, work.host());
      }
      visit_receivers(tenant, unit, [&](std::uint32_t to, bool) {
        if (to != unit) {
          visit(own, node_of(work, tenant, to));
        }
      });
      for (std::uint32_t to = tenant.lead + tenant.prefill;
           work.prefills(number) && to < tenant.lead + tenant.replicas; ++to) {
        visit(own, node_of(work, work.tenants[to], unit));
      }
    }
  }
}

}  // namespace tessera::executor
