// What a host says of requests, steps and services.
#include <string>

#include "serving/host/host.hpp"

namespace tessera::executor {

using serving::StepPart;

std::vector<std::string> ServingHost::waiting(std::size_t most) const {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < tenants_.size() && lines.size() < most; ++i) {
    if (tenants_[i].batcher->unfinished() > 0 && !work_.tenants[i].background) {
      lines.push_back("tenant " + work_.tenants[i].name + ": " +
                      std::to_string(tenants_[i].batcher->unfinished()) +
                      " requests are not served, " + std::to_string(tenants_[i].in_flight) +
                      " steps are under way");
    }
  }
  for (const Running& running : slots_) {
    if (running.outstanding > 0 && running.part == carry_part && lines.size() < most) {
      lines.push_back("keys and values of a request of " +
                      work_.tenants[carries_.at(running.step).to].name + ": " +
                      std::to_string(running.outstanding) + " parts have not come");
    } else if (running.outstanding > 0 && running.part == move_part && lines.size() < most) {
      lines.push_back("blocks of the cache of " + tenant_of(steps_.at(running.step)).name + ": " +
                      std::to_string(running.outstanding) + " parts have not come");
    } else if (running.outstanding > 0 && lines.size() < most) {
      const StepState& step = steps_.at(running.step);
      const StepPart& part = step.parts[running.part];
      lines.push_back((work_.on_tiles
                           ? "a step of " + tenant_of(step).name
                           : work_.names[work_.name_of({step.tenant, part.op, part.shape})]) +
                      ": " + std::to_string(running.outstanding) + " cores have not finished");
    }
  }
  return lines;
}

void ServingHost::put_price(std::uint32_t tenant, Service& service) const {
  const ServiceSettings& served = work_.tenants[tenant];
  const double off_s = off_seconds(tenant);
  std::size_t alone = 0;
  double shares = 0;
  for (const std::uint32_t npu : served.npus) {
    if (use_.is_shared(npu)) {
      NpuUse until_now = use_;
      until_now.advance(npu, last_, running_at(npu));
      shares += until_now.share(npu, tenant);
    } else {
      ++alone;
    }
  }
  service.begin = begin_;
  service.end = unserved_ == 0 ? last_ : SimTime::never();
  service.off_s += off_s;
  service.price += served.price * (static_cast<double>(alone) + shares);
  service.unpaid += served.price * static_cast<double>(alone) * off_s;
}

std::vector<Service> ServingHost::services() const {
  std::vector<Service> all;
  for (std::size_t tenant = 0; tenant < tenants_.size(); ++tenant) {
    Service& service = all.emplace_back(tenants_[tenant].service);
    service.cache_blocks = tenants_[tenant].batcher->most_blocks();
    service.npus = work_.tenants[tenant].npus.size();
    service.replicas = 1;
    put_price(static_cast<std::uint32_t>(tenant), service);
  }
  return all;
}

std::vector<Service> ServingHost::service_totals() const {
  std::vector<Service> all;
  for (std::uint32_t tenant = 0; tenant < tenants_.size(); ++tenant) {
    const ServiceSettings& served = work_.tenants[tenant];
    if (served.lead != tenant) {
      continue;
    }
    Service total = tenants_[tenant].total;
    for (std::uint32_t replica = tenant; replica < tenant + served.replicas; ++replica) {
      total.cache_blocks += tenants_[replica].batcher->most_blocks();
      total.again += tenants_[replica].service.again;
      total.npus += work_.tenants[replica].npus.size();
      put_price(replica, total);
    }
    total.replicas = served.replicas;
    if (served.replicas > 1) {
      all.push_back(total);
    }
    for (const Service& of_class : tenants_[tenant].classes) {
      Service& told = all.emplace_back(of_class);
      told.npus = total.npus;
      told.begin = total.begin;
      told.end = total.end;
    }
  }
  return all;
}

std::vector<Balance> ServingHost::balances(std::size_t tenant) const {
  const TenantState& state = tenants_[tenant];
  ClassSums of_classes;
  for (const Service& of_class : state.classes) {
    of_classes.came = state.arrived;
    of_classes.over += of_class.served;
  }
  return balances_of(work_.tenants[tenant], state.counts, state.service, state.batcher->counts(),
                     of_classes);
}

}  // namespace tessera::executor
