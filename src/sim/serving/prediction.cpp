#include "serving/prediction.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "chip/npu_effort.hpp"
#include "cuts/predicted_events.hpp"
#include "serving/typical_steps.hpp"

namespace tessera::sim {
namespace {

using executor::ServiceSettings;
using executor::ServingWork;
using serving::Batch;

class CorePrediction {
 public:
  CorePrediction(const Platform& platform, const ServingWork& work,
                 const npu::OperatorSource& operators)
      : work_(work), operators_(operators), events_(platform), moved_(work.npus.size()) {}

  SparseCounts make() {
    for (const bool background : {false, true}) {
      const Bytes busiest = *std::max_element(moved_.begin(), moved_.end());
      for (std::uint32_t number = 0; number < work_.tenants.size(); ++number) {
        if (work_.tenants[number].background == background) {
          add_tenant(number, busiest);
        }
      }
    }
    return events_.take();
  }

 private:
  void add_tenant(std::uint32_t number, Bytes busiest) {
    const ServiceSettings& tenant = work_.tenants[number];
    const std::vector<TypicalSteps> steps = typical_steps(tenant);
    std::uint64_t times = 1;
    if (tenant.background) {
      Bytes own;
      for (const auto& [batch, count] : steps) {
        for (const Effort& unit : efforts_of(number, batch)) {
          own = std::max(own, unit.moved() * count);
        }
      }
      times = own == Bytes() ? 1 : std::max<std::uint64_t>(1, busiest.count() / own.count());
    }
    for (const auto& [batch, count] : steps) {
      add_step(number, batch, count * times);
    }
  }

  // [units]
  std::vector<Effort> efforts_of(std::uint32_t number, const Batch& batch) const {
    const ServiceSettings& tenant = work_.tenants[number];
    std::map<std::uint64_t, Effort> known;  // by kind
    std::vector<Effort> all(tenant.npus.size());
    for (const serving::StepPart& part : tenant.model->step(batch)) {
      if (part.exchanges) {
        continue;
      }
      const std::uint64_t kind =
          operators_.kind_of(serving::OperatorName{number, part.op, part.shape}.code());
      const auto [found, is_new] = known.try_emplace(kind);
      if (is_new) {
        const auto op = operators_.make(kind, work_.cores());
        found->second.add(effort_of_group(*op), op->groups());
        found->second.shares = std::min<std::uint64_t>(op->groups(), work_.cores());
      }
      all[part.unit].add(found->second, 1);
    }
    return all;
  }

  void add_step(std::uint32_t number, const Batch& batch, std::uint64_t times) {
    const ServiceSettings& tenant = work_.tenants[number];
    const std::vector<Effort> efforts = efforts_of(number, batch);
    for (std::size_t unit = 0; unit < efforts.size(); ++unit) {
      const std::uint32_t npu = tenant.npus[unit];
      moved_[npu] += efforts[unit].moved() * times;
      for (const EntityId core : work_.npus[npu]) {
        add_core(core, efforts[unit], times);
      }
    }
    for (const serving::StepPart& part : tenant.model->step(batch)) {
      if (part.exchanges) {
        add_exchange(tenant, tenant.model->exchange(part.op, part.shape), times);
      }
    }
  }

  // An even part of it.
  void add_core(EntityId core, const Effort& effort, std::uint64_t times) {
    effort.add_to(events_, core, work_.core, times, work_.cores());
    const std::uint64_t shares = effort.shares * times / work_.cores();
    events_.message(work_.host(), core, work_.message, 2 * shares);
    events_.message(core, work_.host(), work_.message, shares);
  }

  // Each of a ring sends what it has about twice; a core to its like.
  void add_exchange(const ServiceSettings& tenant, const serving::Exchange& exchange,
                    std::uint64_t times) {
    const bool hands_on = !exchange.collective;
    const std::uint64_t steps = hands_on ? 1 : 2 * (exchange.units - 1);
    const std::uint64_t parts = std::uint64_t{work_.cores()} * (hands_on ? 1 : exchange.units);
    const Bytes bytes(std::max<std::uint64_t>(1, exchange.bytes.count() / parts));
    for (std::uint32_t unit = 0; unit < exchange.units; ++unit) {
      const std::uint32_t to = hands_on ? unit + exchange.units : (unit + 1) % exchange.units;
      for (std::uint32_t place = 0; place < work_.cores(); ++place) {
        events_.message(work_.npus[tenant.npus[exchange.first + unit]][place],
                        work_.npus[tenant.npus[exchange.first + to]][place], bytes, steps * times);
      }
    }
  }

  const ServingWork& work_;
  const npu::OperatorSource& operators_;
  PredictedEvents events_;
  std::vector<Bytes> moved_;  // [NPUs]
};

}  // namespace

SparseCounts predicted_events(const Platform& platform, const ServingWork& work,
                              const npu::OperatorSource& operators) {
  return CorePrediction(platform, work, operators).make();
}

}  // namespace tessera::sim
