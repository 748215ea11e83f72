// The policy `deadline`, after what it has to do with contention: tenants with a target compete
// with others for cores, which priorities settle, and for memory, which they cannot. So tenants
// without a target get as few cores as it takes: one less whenever a step missed its target, one
// more when `patience` of them in a row took less than `slack` of it (additive increase and
// decrease). With no core left they wait until no step with a target is under way.
#include <algorithm>
#include <utility>

#include "tessera/core/error.hpp"
#include "tessera/serving/policy.hpp"

namespace tessera::serving {
namespace {

struct Options {
  double slack = 0.8;
  std::uint32_t patience = 8;
};

class Deadline final : public Policy {
 public:
  Deadline(PolicySetup setup, Options options)
      : setup_(std::move(setup)), options_(options), allowed_(setup_.cores) {}

  std::vector<Start> choose(const Scene& scene) override {
    // NPUs on which a step with a target is under way.
    std::vector<bool> is_urgent(setup_.npus);
    for (std::size_t tenant = 0; tenant < setup_.tenants.size(); ++tenant) {
      for (const std::uint32_t npu : setup_.tenants[tenant].npus) {
        is_urgent[npu] =
            is_urgent[npu] || (setup_.tenants[tenant].has_target && scene.busy[tenant] != 0);
      }
    }
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
      if (setup_.tenants[candidate.tenant].has_target) {
        starts.push_back({i, {0, setup_.cores}, priority_of(candidate, scene.now)});
      } else if (!is_urgent[candidate.npu] || allowed_ > 0) {
        const std::uint32_t count = is_urgent[candidate.npu] ? allowed_ : setup_.cores;
        starts.push_back({i, {setup_.cores - count, count}, 0});
      }
    }
    return starts;
  }

  void step_over(std::uint32_t /*tenant*/, SimTime took, SimTime target) override {
    if (took > target) {
      allowed_ -= allowed_ > 0 ? 1 : 0;
      good_ = 0;
    } else if (took.seconds() < options_.slack * target.seconds() && ++good_ >= options_.patience) {
      allowed_ = std::min(allowed_ + 1, setup_.cores);
      good_ = 0;
    }
  }

  void save(pdes::StateWriter& writer) const override {
    writer.put(allowed_);
    writer.put(good_);
  }
  void restore(pdes::StateReader& reader) override {
    allowed_ = reader.get<std::uint32_t>();
    good_ = reader.get<std::uint32_t>();
  }

 private:
  // Those that are late before those that are not.
  static std::uint8_t priority_of(const Candidate& candidate, SimTime now) {
    return candidate.deadline <= now ? 2 : 1;
  }

  PolicySetup setup_;
  Options options_;
  std::uint32_t allowed_;   // cores for tenants without a target
  std::uint32_t good_ = 0;  // steps in a row with slack
};

PolicyFactory make_deadline(config::Section& section, const PolicySetup& setup) {
  Options options;
  options.slack = section.get_or<double>("slack", options.slack, config::between(0.0, 1.0));
  options.patience = static_cast<std::uint32_t>(section.get_or<std::int64_t>(
      "patience", options.patience, config::between<std::int64_t>(1, 1'000'000)));
  const bool some = std::any_of(setup.tenants.begin(), setup.tenants.end(),
                                [](const Sharer& tenant) { return tenant.has_target; });
  if (!some) {
    section.error("policy", "deadline is of tenants with a target; none has one");
  }
  return [setup, options] { return std::make_unique<Deadline>(setup, options); };
}

const Registration registration(
    policies(),
    {"deadline",
     "tenants with a target first, those without one on as few cores as it takes",
     {{"slack", "", "0.8", "a step below this part of its target has room to spare"},
      {"patience", "", "8", "steps with room to spare after which others get one more core"}}},
    make_deadline);

}  // namespace
}  // namespace tessera::serving
