// As serving/prediction.cpp, of NPUs that are tiles.
#include <algorithm>
#include <array>
#include <bit>
#include <map>

#include "cuts/predicted_events.hpp"
#include "serving/prediction.hpp"
#include "serving/typical_steps.hpp"

namespace tessera::sim {
namespace {

using executor::ServiceSettings;
using executor::ServingWork;
using serving::StepSizes;
using serving::WalkPart;

constexpr std::uint64_t of_operator = 2;  // events
// To each unit: the step's name, its share, and its sizes, of which the name has the first.
std::uint64_t messages_of_step(const serving::TileModel& model) {
  constexpr std::uint64_t sizes = std::tuple_size_v<StepSizes::Words> - StepSizes::more - 1;
  return 2 + sizes + static_cast<std::uint64_t>(std::popcount(model.more_words()));
}

// What a unit does in a step.
struct UnitWork {
  std::uint64_t operators = 0;
  std::uint64_t bytes = 0;  // of operands
  std::map<std::uint32_t, std::uint64_t> exchanges;
  std::map<std::pair<bool, Bytes>, std::uint64_t> accesses;  // writes, size
};

class TilesPrediction {
 public:
  TilesPrediction(const Platform& platform, const ServingWork& work)
      : work_(work), events_(platform), moved_(work.npus.size()) {}

  SparseCounts make() {
    if (work_.whole_steps) {  // all of them at the host
      for (const ServiceSettings& tenant : work_.tenants) {
        events_.add(work_.host(), tenant.requests->count().value_or(1));
        for (const TypicalSteps& some : typical_steps(tenant)) {
          events_.add(work_.host(), some.count);
        }
      }
      return events_.take();
    }
    for (const bool background : {false, true}) {
      const std::uint64_t busiest = *std::max_element(moved_.begin(), moved_.end());
      for (const ServiceSettings& tenant : work_.tenants) {
        if (tenant.background == background) {
          add_tenant(tenant, busiest);
        }
      }
    }
    return events_.take();
  }

 private:
  void add_tenant(const ServiceSettings& tenant, std::uint64_t busiest) {
    for (const auto& [batch, count] : typical_steps(tenant)) {
      std::map<std::uint32_t, UnitWork> of_stage;  // units of a stage are alike
      std::uint64_t most = 1;
      for (std::uint32_t unit = 0; unit < tenant.npus.size(); ++unit) {
        const auto [found, is_new] = of_stage.try_emplace(stage_of(tenant, unit));
        if (is_new) {
          found->second = work_of(tenant, unit, batch);
        }
        most = std::max(most, found->second.bytes * count);
      }
      const std::uint64_t times =
          count * (tenant.background ? std::max<std::uint64_t>(1, busiest / most) : 1);
      for (std::uint32_t unit = 0; unit < tenant.npus.size(); ++unit) {
        add_unit(tenant, unit, of_stage[stage_of(tenant, unit)], batch, times);
      }
    }
  }

  static std::uint32_t stage_of(const ServiceSettings& tenant, std::uint32_t unit) {
    return unit / (tenant.model->units() / tenant.model->stages());
  }

  static UnitWork work_of(const ServiceSettings& tenant, std::uint32_t unit,
                          const serving::Batch& batch) {
    const serving::TileModel& model = *tenant.model->on_tiles();
    const StepSizes sizes = model.sizes_of(batch);
    std::map<std::uint32_t, serving::TileOperation> known;  // by kind
    UnitWork work;
    for (const WalkPart& part : model.walk(unit, sizes)) {
      const bool exchanges =
          part.kind == WalkPart::Kind::collective || part.kind == WalkPart::Kind::hand_on;
      if (exchanges) {
        ++work.exchanges[part.op];
      } else if (part.kind == WalkPart::Kind::operation) {
        const auto [found, is_new] = known.try_emplace(tenant.model->kind_of(part.op));
        if (is_new) {
          found->second = model.operation(part.op, sizes);
        }
        add_operator(tenant, found->second, work);
      }
    }
    return work;
  }

  static void add_operator(const ServiceSettings& tenant, const serving::TileOperation& op,
                           UnitWork& work) {
    ++work.operators;
    work.bytes += op.operation.bytes.count();
    const Bytes read = (tenant.streams_weights ? op.weights : Bytes()) +
                       (tenant.streams_cache ? op.cached : Bytes());
    if (read > Bytes()) {
      ++work.accesses[{false, read}];
    }
    if (tenant.streams_cache && op.appended > Bytes()) {
      ++work.accesses[{true, op.appended}];
    }
  }

  void add_unit(const ServiceSettings& tenant, std::uint32_t unit, const UnitWork& work,
                const serving::Batch& batch, std::uint64_t times) {
    const std::uint32_t npu = tenant.npus[unit];
    const EntityId tile = work_.npus[npu].front();
    moved_[npu] += work.bytes * times;
    const serving::TileModel& model = *tenant.model->on_tiles();
    events_.add(tile, of_operator * work.operators * times);
    events_.message(work_.host(), tile, work_.message, messages_of_step(model) * times);
    events_.message(tile, work_.host(), work_.message, times);
    for (const auto& [access, count] : work.accesses) {
      events_.access(tile, access.second, access.first, count * times);
    }
    const std::uint64_t tokens = model.sizes_of(batch).tokens;
    for (const auto& [op, count] : work.exchanges) {
      add_exchange(tenant, unit, tenant.model->exchange(op, tokens), count * times);
    }
  }

  // Each of a ring sends what it has about twice.
  void add_exchange(const ServiceSettings& tenant, std::uint32_t unit,
                    const serving::Exchange& exchange, std::uint64_t times) {
    const bool hands_on = !exchange.collective;
    const std::uint32_t to = hands_on
                                 ? unit + exchange.units
                                 : exchange.first + (unit - exchange.first + 1) % exchange.units;
    const Bytes bytes(
        std::max<std::uint64_t>(1, exchange.bytes.count() / (hands_on ? 1 : exchange.units)));
    events_.message(work_.npus[tenant.npus[unit]].front(), work_.npus[tenant.npus[to]].front(),
                    bytes, (hands_on ? 1 : 2 * (exchange.units - 1)) * times);
  }

  const ServingWork& work_;
  PredictedEvents events_;
  std::vector<std::uint64_t> moved_;  // [NPUs]
};

}  // namespace

SparseCounts predicted_events_of_tiles(const Platform& platform, const ServingWork& work) {
  return TilesPrediction(platform, work).make();
}

}  // namespace tessera::sim
