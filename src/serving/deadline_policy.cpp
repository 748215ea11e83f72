// The policy `deadline`. A core takes no tile back that it has begun, and a large one of a tenant
// in no hurry may take milliseconds, so that priority alone keeps no target. Hence a moving border:
// tenants with a target work on the cores below it, and on none where others have work; those
// without one on the cores above. Since both use the same memory, how many cores a target takes
// depends on what the others do; so the border moves by what comes out: up by one whenever a step
// missed its target, down by one when `patience` of them in a row took less than `slack` of it.
// It begins with one core above it, and there is one below it at least; while no step with a target
// is under way it does not count.
#include <algorithm>
#include <utility>

#include "tessera/config/key.hpp"
#include "tessera/core/error.hpp"
#include "tessera/serving/policy.hpp"

namespace tessera::serving {
namespace {

struct Options {
  double slack;
  std::uint32_t patience;
};

class Deadline final : public Policy {
 public:
  Deadline(PolicySetup setup, Options options)
      : setup_(std::move(setup)),
        options_(options),
        border_(std::max(2U, setup_.cores) - 1),
        taken_from_(setup_.npus, setup_.cores) {}

  std::vector<Start> choose(const Scene& scene) override {
    forget_ended(scene);
    const std::vector<bool> is_urgent = urgent_npus(scene);
    std::vector<std::size_t> order(scene.candidates.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return scene.candidates[a].deadline < scene.candidates[b].deadline;
    });
    std::vector<Start> starts;
    for (const std::size_t i : order) {
      const Candidate& candidate = scene.candidates[i];
      std::uint32_t& taken_from = taken_from_[candidate.npu];
      if (setup_.tenants[candidate.tenant].has_target) {
        const std::uint32_t count = taken_from > 0 ? taken_from : setup_.cores;
        starts.push_back({i, {0, count}, priority_of(candidate, scene.now)});
        continue;
      }
      const std::uint32_t first = is_urgent[candidate.npu] ? border_ : 0;
      if (first < setup_.cores) {
        starts.push_back({i, {first, setup_.cores - first}, 0});
        taken_from = std::min(taken_from, first);
      } else if (setup_.cores == 1) {
        starts.push_back({i, {0, 1}, 0});  // there is but one to share
      }
    }
    return starts;
  }

  void step_over(std::uint32_t /*tenant*/, SimTime took, SimTime target) override {
    if (took > target) {
      border_ = std::min(border_ + 1, setup_.cores);
      good_ = 0;
    } else if (took.seconds() >= options_.slack * target.seconds()) {
      good_ = 0;
    } else if (++good_ >= options_.patience) {
      border_ = std::max(1U, border_ - 1);
      good_ = 0;
    }
  }

  void save(pdes::StateWriter& writer) const override {
    writer.put(border_);
    writer.put(good_);
    writer.put_all(taken_from_);
  }
  void restore(pdes::StateReader& reader) override {
    border_ = reader.get<std::uint32_t>();
    good_ = reader.get<std::uint32_t>();
    taken_from_ = reader.get_all<std::uint32_t>();
  }

 private:
  // Cores are free again where tenants without a target have nothing under way.
  void forget_ended(const Scene& scene) {
    const std::size_t tenants = setup_.tenants.size();
    for (std::uint32_t npu = 0; npu < setup_.npus; ++npu) {
      std::uint32_t others = 0;
      for (std::size_t tenant = 0; tenant < tenants; ++tenant) {
        others += setup_.tenants[tenant].has_target ? 0 : scene.running[npu * tenants + tenant];
      }
      taken_from_[npu] = others > 0 ? taken_from_[npu] : setup_.cores;
    }
  }

  // On which a step with a target is under way.
  std::vector<bool> urgent_npus(const Scene& scene) const {
    std::vector<bool> is_urgent(setup_.npus);
    for (std::size_t tenant = 0; tenant < setup_.tenants.size(); ++tenant) {
      for (const std::uint32_t npu : setup_.tenants[tenant].npus) {
        is_urgent[npu] =
            is_urgent[npu] || (setup_.tenants[tenant].has_target && scene.busy[tenant] != 0);
      }
    }
    return is_urgent;
  }

  // Those that are late before those that are not.
  static std::uint8_t priority_of(const Candidate& candidate, SimTime now) {
    return candidate.deadline <= now ? 2 : 1;
  }

  PolicySetup setup_;
  Options options_;
  std::uint32_t border_;                   // first core for tenants without a target
  std::uint32_t good_ = 0;                 // steps in a row with slack
  std::vector<std::uint32_t> taken_from_;  // [NPUs] first core on which they have work
};

const config::Key<double> slack{"slack", 0.8,
                                "a step that takes less than this fraction of its target has "
                                "time to spare",
                                config::between(0.0, 1.0)};
const config::Key<std::uint32_t> patience{
    "patience", 32, "consecutive steps with time to spare after which others get one more core",
    config::between(1U, 1'000'000U)};

PolicyFactory make_deadline(config::Section& section, const PolicySetup& setup) {
  const Options options{slack.read(section), patience.read(section)};
  const bool some = std::any_of(setup.tenants.begin(), setup.tenants.end(),
                                [](const Sharer& tenant) { return tenant.has_target; });
  if (!some) {
    section.error("policy", "deadline is of tenants with a target; none has one");
  }
  return [setup, options] { return std::make_unique<Deadline>(setup, options); };
}

const Registration deadline_policy_registration(
    policies(),
    {"deadline",
     "a boundary between cores for tenants with a target and cores for others moves as targets "
     "are met",
     {slack, patience}},
    make_deadline);

}  // namespace
}  // namespace tessera::serving
