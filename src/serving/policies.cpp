#include <algorithm>
#include <utility>

#include "tessera/serving/policy.hpp"

namespace tessera::serving {
namespace {

class FirstCome final : public Policy {
 public:
  explicit FirstCome(PolicySetup setup) : setup_(std::move(setup)) {}
  std::vector<Start> choose(const Scene& scene) override {
    std::vector<Start> starts;
    for (std::size_t i = 0; i < scene.candidates.size(); ++i) {
      starts.push_back({i, {0, setup_.cores}, 0});
    }
    return starts;
  }
  bool begins_at_once() const override { return true; }

 private:
  PolicySetup setup_;
};

class TimeSharing final : public Policy {
 public:
  explicit TimeSharing(PolicySetup setup)
      : setup_(std::move(setup)), last_(setup_.npus, static_cast<std::uint32_t>(tenants()) - 1) {}

  std::vector<Start> choose(const Scene& scene) override {
    std::vector<Start> starts;
    for (std::uint32_t npu = 0; npu < setup_.npus; ++npu) {
      const auto* const running = scene.running.data() + npu * tenants();
      if (std::any_of(running, running + tenants(), [](std::uint32_t n) { return n > 0; })) {
        continue;
      }
      // The first candidate of the tenant that comes next in turn.
      std::optional<std::size_t> best;
      std::uint64_t best_turn = tenants();
      for (std::size_t i = 0; i < scene.candidates.size(); ++i) {
        const Candidate& candidate = scene.candidates[i];
        const std::uint64_t turn = (candidate.tenant + tenants() - last_[npu] - 1) % tenants();
        if (candidate.npu == npu && turn < best_turn) {
          best = i;
          best_turn = turn;
        }
      }
      if (best) {
        last_[npu] = scene.candidates[*best].tenant;
        starts.push_back({*best, {0, setup_.cores}, 0});
      }
    }
    return starts;
  }
  void save(pdes::StateWriter& writer) const override { writer.put_all(last_); }
  void restore(pdes::StateReader& reader) override { last_ = reader.get_all<std::uint32_t>(); }

 private:
  std::size_t tenants() const { return setup_.tenants.size(); }

  PolicySetup setup_;
  std::vector<std::uint32_t> last_;  // [NPUs] tenant whose turn was last
};

bool is_on(const Sharer& tenant, std::uint32_t npu) {
  return std::find(tenant.npus.begin(), tenant.npus.end(), npu) != tenant.npus.end();
}

// The part of an NPU's cores that a tenant gets when those for which `counts` share them.
template <class Counts>
CoreRange part_of(const PolicySetup& setup, std::uint32_t npu, std::uint32_t tenant,
                  const Counts& counts) {
  std::uint32_t parts = 0;
  std::uint32_t number = 0;
  for (std::uint32_t other = 0; other < setup.tenants.size(); ++other) {
    if (is_on(setup.tenants[other], npu) && counts(other)) {
      number = other == tenant ? parts : number;
      ++parts;
    }
  }
  if (parts > setup.cores) {  // some share one
    return {number % setup.cores, 1};
  }
  return even_part(setup.cores, parts, number);
}

class Spatial final : public Policy {
 public:
  explicit Spatial(PolicySetup setup) : setup_(std::move(setup)) {}
  std::vector<Start> choose(const Scene& scene) override {
    std::vector<Start> starts;
    for (std::size_t i = 0; i < scene.candidates.size(); ++i) {
      const Candidate& candidate = scene.candidates[i];
      const auto& cores = setup_.tenants[candidate.tenant].cores;
      starts.push_back({i,
                        cores ? *cores
                              : part_of(setup_, candidate.npu, candidate.tenant,
                                        [](std::uint32_t) { return true; }),
                        0});
    }
    return starts;
  }

 private:
  PolicySetup setup_;
};

class SpatialSplit final : public Policy {
 public:
  explicit SpatialSplit(PolicySetup setup) : setup_(std::move(setup)) {}
  std::vector<Start> choose(const Scene& scene) override {
    std::vector<Start> starts;
    for (std::size_t i = 0; i < scene.candidates.size(); ++i) {
      const Candidate& candidate = scene.candidates[i];
      const CoreRange cores = part_of(setup_, candidate.npu, candidate.tenant,
                                      [&](std::uint32_t other) { return scene.busy[other]; });
      starts.push_back({i, cores, 0});
    }
    return starts;
  }

 private:
  PolicySetup setup_;
};

template <class Made>
PolicyMaker maker() {
  return [](config::Section&, const PolicySetup& setup) -> PolicyFactory {
    return [setup] { return std::make_unique<Made>(setup); };
  };
}

const Registration first_come(
    policies(), {"first-come", "everything that is ready begins at once on all cores", {}},
    maker<FirstCome>());
const Registration time_sharing(
    policies(), {"time-sharing", "one layer of one tenant at a time, on all cores, in turn", {}},
    maker<TimeSharing>());
const Registration spatial(policies(),
                           {"spatial", "each tenant has its own cores (tenants.cores)", {}},
                           maker<Spatial>());
const Registration spatial_split(
    policies(),
    {"spatial-split", "cores are divided evenly among tenants that have work, layer by layer", {}},
    maker<SpatialSplit>());

}  // namespace

CoreRange even_part(std::uint32_t cores, std::uint32_t parts, std::uint32_t number) {
  const std::uint32_t least = cores / parts;
  const std::uint32_t larger = cores % parts;
  return {number * least + std::min(number, larger), least + (number < larger ? 1U : 0U)};
}

Registry<PolicyMaker>& policies() {
  static Registry<PolicyMaker> registry("scheduler policy");
  return registry;
}

}  // namespace tessera::serving
