// Work that is that of several jobs on one machine.
#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "jobs/joint_work.hpp"
#include "results/trace_names.hpp"
#include "tessera/compute/compute.hpp"
#include "tessera/core/error.hpp"
#include "tessera/executor/tenants.hpp"

namespace tessera::sim {
namespace {

// Numbers of one tenant's work among those of all.
struct TenantPlace {
  std::uint32_t first_role = 0;
  std::size_t first_part = 0;
  std::size_t first_name = 0;
  std::vector<std::uint16_t> phases;  // by its own numbers
};

// Tells another observer in the numbers of all. Where requests are served, phases are for whom.
class Renaming final : public executor::Observer {
 public:
  Renaming(executor::Observer& observer, const TenantPlace& place)
      : observer_(observer), place_(place) {}

  void on_operator(const executor::OperatorRecord& record) override {
    executor::OperatorRecord here = record;
    here.name = name_of(record.name);
    here.phase = static_cast<plan::Phase>(place_.phases[static_cast<std::size_t>(record.phase)]);
    observer_.on_operator(here);
  }
  void on_message(const executor::MessageRecord& record) override { observer_.on_message(record); }
  void on_memory(const executor::MemoryRecord& record) override {
    executor::MemoryRecord here = record;
    here.pass.phase =
        static_cast<plan::Phase>(place_.phases[static_cast<std::size_t>(record.pass.phase)]);
    observer_.on_memory(here);
  }
  bool hears_messages_of_graphs() const override { return observer_.hears_messages_of_graphs(); }
  void on_collective_phase(const executor::CollectivePhaseRecord& record) override {
    executor::CollectivePhaseRecord here = record;
    here.name = name_of(record.name);
    observer_.on_collective_phase(here);
  }
  void on_request(const executor::RequestRecord& record) override {
    executor::RequestRecord here = record;
    here.tenant = place_.phases[record.tenant];
    observer_.on_request(here);
  }
  void on_token(const executor::TokenRecord& record) override {
    executor::TokenRecord here = record;
    here.tenant = place_.phases[record.tenant];
    observer_.on_token(here);
  }
  void on_service_load(const executor::ServiceLoadRecord& record) override {
    executor::ServiceLoadRecord here = record;
    here.tenant = place_.phases[record.tenant];
    observer_.on_service_load(here);
  }

 private:
  std::uint16_t name_of(std::uint16_t own) const {
    return static_cast<std::uint16_t>(std::min(place_.first_name + own, most_names));
  }

  executor::Observer& observer_;
  const TenantPlace& place_;
};

class JointWork final : public Work {
 public:
  explicit JointWork(const Experiment& experiment)
      : experiment_(experiment),
        tenant_at_(experiment.machine.topology->nodes(), executor::TenantsSetup::nobody) {
    std::uint64_t roles = 0;
    for (std::size_t number = 0; number < experiment.jobs.size(); ++number) {
      const PlacedJob& tenant = experiment.jobs[number];
      works_.push_back(tenant.job->work(experiment));
      TenantPlace& place = places_.emplace_back();
      place.first_role = static_cast<std::uint32_t>(roles);
      place.first_part = parts_.size();
      place.first_name = names_.size();
      roles += works_.back()->roles();
      add_names(tenant, *works_.back(), place);
      for (const EntityId tile : tenant.tiles) {
        tenant_at_[tile.value()] = static_cast<std::uint16_t>(number);
      }
    }
    if (names_.size() > most_names) {
      names_.resize(most_names);
      names_.emplace_back(other_names);
    }
  }

  std::uint64_t tiles() const override {
    return sum([](const Work& work) { return work.tiles(); });
  }
  std::vector<EntityId> nodes() const override {
    std::vector<EntityId> all;
    for (const auto& work : works_) {
      const std::vector<EntityId> own = work->nodes();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  // A list of one has those of its job; several are one together.
  std::uint32_t iterations() const override {
    return works_.size() == 1 ? works_.front()->iterations() : 1;
  }
  std::uint64_t instructions() const override {
    return sum([this](const Work& work) { return work.instructions() * rounds_of(work); });
  }
  double peak_flops_per_s() const override {
    double all = 0;
    for (const auto& work : works_) {
      all += work->peak_flops_per_s();
    }
    return all;
  }
  std::uint64_t samples() const override {
    return std::max<std::uint64_t>(
        1, sum([this](const Work& work) { return work.samples() * rounds_of(work); }));
  }
  std::uint64_t tokens() const override {
    return sum([this](const Work& work) { return work.tokens() * rounds_of(work); });
  }
  double flops_of_sample() const override {
    double all = 0;
    for (const auto& work : works_) {
      all += work->flops_of_sample() * static_cast<double>(work->samples()) * rounds_of(*work);
    }
    return all / static_cast<double>(samples());
  }
  double flops_done() const override {
    double all = 0;
    for (const auto& work : works_) {
      all += work->flops_done() * rounds_of(*work);
    }
    return all;
  }

  std::vector<executor::Activity> activities() const override {
    std::vector<executor::Activity> all;
    for (const auto& work : works_) {
      const std::vector<executor::Activity> own = work->activities();
      all.insert(all.end(), own.begin(), own.end());
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  }
  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    for (std::size_t number = 0; number < works_.size(); ++number) {
      for (const std::string& note : works_[number]->notes()) {
        notes.push_back(experiment_.jobs[number].name + ": " + note);
      }
    }
    note_equal_draws(notes);
    return notes;
  }
  std::vector<std::string> phases() const override { return phases_; }
  std::vector<Part> parts() const override { return parts_; }
  std::size_t part_of(std::uint32_t role) const override {
    const std::size_t tenant = share_of(role);
    return places_[tenant].first_part + works_[tenant]->part_of(role - places_[tenant].first_role);
  }
  std::uint64_t roles() const override {
    return sum([](const Work& work) { return work.roles(); });
  }
  bool has_work(std::uint32_t role) const override {
    const std::size_t tenant = share_of(role);
    return works_[tenant]->has_work(role - places_[tenant].first_role);
  }
  const std::vector<std::string>& names() const override { return names_; }
  std::vector<EntityId> samples_of_parts() const override {
    std::vector<EntityId> all;
    for (const auto& work : works_) {
      const std::vector<EntityId> own = work->samples_of_parts();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  std::vector<std::string> services() const override {
    return named([](const Work& work) { return work.services(); });
  }
  std::vector<Kept> kept() const override {
    std::vector<Kept> all;
    for (const std::unique_ptr<Work>& work : works_) {
      const std::vector<Kept> own = work->kept();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  std::vector<std::string> service_totals() const override {
    return named([](const Work& work) { return work.service_totals(); });
  }
  void describe(EntityId node, trace::NodeRow& row) const override {
    const std::uint16_t tenant = tenant_at_[node.value()];
    if (tenant != executor::TenantsSetup::nobody) {
      works_[tenant]->describe(node, row);
      row.tenant = tenant;
    }
  }
  std::vector<Share> shares() const override {
    std::vector<Share> shares;
    for (std::size_t number = 0; number < works_.size(); ++number) {
      const Work& work = *works_[number];
      const PlacedJob& placed = experiment_.jobs[number];
      shares.push_back({placed.name, placed.job->name, placed.start, work.tiles(),
                        work.iterations(), work.samples(),
                        work.flops_of_sample() * static_cast<double>(work.samples()),
                        work.flops_done(), work.peak_flops_per_s()});
    }
    return shares;
  }
  std::size_t share_of(std::uint32_t role) const override {
    const auto after = std::upper_bound(
        places_.begin(), places_.end(), role,
        [](std::uint32_t number, const TenantPlace& place) { return number < place.first_role; });
    return static_cast<std::size_t>(after - places_.begin()) - 1;
  }

  std::size_t shared_bytes() const override {
    return sum([](const Work& work) { return work.shared_bytes(); }) +
           tenant_at_.size() * sizeof(std::uint16_t);
  }
  // Components of each tenant have room for every node of the rank.
  std::size_t bytes_a_tile() const override {
    return sum([](const Work& work) { return work.bytes_a_tile(); }) + 2 * sizeof(std::uint16_t);
  }
  void visit_messages(const MessageVisit& visit) const override {
    for (const auto& work : works_) {
      work->visit_messages(visit);
    }
  }
  std::size_t compute_bytes(std::uint64_t nodes) const override {
    std::size_t all = 0;
    for (std::size_t number = 0; number < works_.size(); ++number) {
      all += works_[number]->compute_bytes(
          std::min<std::uint64_t>(nodes, experiment_.jobs[number].tiles.size()));
    }
    return all;
  }
  // Where each job's is known.
  std::optional<Accessed> accessed() const override {
    Accessed all;
    for (const auto& work : works_) {
      const std::optional<Accessed> own = work->accessed();
      if (!own) {
        return std::nullopt;
      }
      all.read += own->read;
      all.written += own->written;
    }
    return all;
  }
  std::vector<StagePeak> known_peaks() const override {
    std::vector<StagePeak> all;
    for (std::size_t number = 0; number < works_.size(); ++number) {
      for (StagePeak& peak : works_[number]->known_peaks()) {
        peak.name.insert(0, experiment_.jobs[number].name + "/");
        all.push_back(std::move(peak));
      }
    }
    return all;
  }
  void visit_jobs(const std::function<void(const Work& work)>& visit) const override {
    for (const auto& work : works_) {
      visit(*work);
    }
  }
  bool stands_for_others() const override {
    return std::any_of(works_.begin(), works_.end(),
                       [](const auto& work) { return work->stands_for_others(); });
  }
  Wide operand_bytes() const override {
    Wide all = 0;
    for (const auto& work : works_) {
      all += work->operand_bytes();
    }
    return all;
  }
  SparseCounts predicted_events() const override {
    std::vector<SparseCounts> own;
    std::uint64_t usual = 0;
    for (const auto& work : works_) {
      own.push_back(work->predicted_events());
      usual += own.back().usual() * rounds_of(*work);
    }
    SparseCounts events(experiment_.machine.topology->nodes(), usual);
    for (std::size_t number = 0; number < works_.size(); ++number) {
      const Work& work = *works_[number];
      own[number].visit([&](std::size_t node, std::uint64_t count) {
        events.at(node) += (count - own[number].usual()) * rounds_of(work);
      });
      const std::uint64_t of_tile = work.events_of_tile() * rounds_of(work);
      for (const EntityId tile : experiment_.jobs[number].tiles) {
        events.at(tile.value()) += of_tile;
      }
    }
    return events;
  }

  std::unique_ptr<compute::Compute> make_compute(std::span<const EntityId> members) const override {
    // Programs have one component together, which puts the operands of each tile elsewhere.
    std::vector<workload::Operation> operations;
    for (const auto& work : works_) {
      operations.insert(operations.end(), work->operations().begin(), work->operations().end());
    }
    compute::ComputeParts all;
    std::vector<std::uint16_t> part_of_tenant;
    std::optional<std::uint16_t> of_programs;
    for (const auto& work : works_) {
      const bool shares = !work->operations().empty();
      if (!shares || !of_programs) {
        part_of_tenant.push_back(static_cast<std::uint16_t>(all.parts.size()));
        all.parts.push_back(shares ? make_model_cores(experiment_, operations, members)
                                   : work->make_compute(members));
      } else {
        part_of_tenant.push_back(*of_programs);
      }
      if (shares) {
        of_programs = part_of_tenant.back();
      }
    }
    for (const EntityId node : members) {
      const std::uint16_t tenant = tenant_at_[node.value()];
      all.part_of.push_back(tenant == executor::TenantsSetup::nobody ? compute::ComputeParts::none
                                                                     : part_of_tenant[tenant]);
    }
    return compute::make_compute_of(std::move(all));
  }
  std::unique_ptr<executor::Executor> make_executor(
      std::span<const EntityId> members, executor::Observer* observer,
      const executor::OutlookSetup& outlook) const override {
    executor::TenantsSetup setup;
    setup.part_of = tenant_at_;
    setup.members = members;
    setup.slot = executor_slot;
    for (std::size_t number = 0; number < works_.size(); ++number) {
      executor::TenantPart& part = setup.parts.emplace_back();
      part.name = experiment_.jobs[number].name;
      part.start = experiment_.jobs[number].start;
      part.first_role = places_[number].first_role;
      part.services = works_[number]->services().size();
      part.totals = works_[number]->service_totals().size();
      if (observer != nullptr) {
        part.observer = std::make_unique<Renaming>(*observer, places_[number]);
      }
      part.executor = works_[number]->make_executor(members, part.observer.get(), outlook);
    }
    return executor::make_tenants_executor(std::move(setup));
  }
  bool tells_when_cores_begin() const override {
    return std::all_of(works_.begin(), works_.end(),
                       [](const auto& work) { return work->tells_when_cores_begin(); });
  }
  bool knows_pairs() const override {
    return std::all_of(works_.begin(), works_.end(),
                       [](const auto& work) { return work->knows_pairs(); });
  }
  void visit_pairs(const std::function<void(EntityId, EntityId)>& visit) const override {
    for (const auto& work : works_) {
      work->visit_pairs(visit);
    }
  }

 private:
  // Iterations of a job in one of all.
  std::uint32_t rounds_of(const Work& work) const { return work.iterations() / iterations(); }

  void note_equal_draws(std::vector<std::string>& notes) const {
    std::map<std::uint64_t, std::vector<std::string>> alike;
    for (std::size_t number = 0; number < works_.size(); ++number) {
      for (const auto& [name, seed] : works_[number]->draws()) {
        alike[seed].push_back(experiment_.jobs[number].name + "/" + name);
      }
    }
    for (const auto& [seed, names] : alike) {
      if (names.size() > 1) {
        notes.push_back("requests of " + names[0] + " and " + names[1] +
                        (names.size() > 2 ? ", and of others," : "") +
                        " are drawn from the same random numbers and arrive together: a separate "
                        "'seed' for each job makes them independent");
      }
    }
  }

  void add_names(const PlacedJob& tenant, const Work& work, TenantPlace& place) {
    for (const Part& part : work.parts()) {
      parts_.push_back({tenant.name + "/" + part.name, part.tiles});
    }
    names_.insert(names_.end(), work.names().begin(), work.names().end());
    const bool serves = !work.services().empty();
    for (const std::string& own : work.phases()) {
      const std::string phase = serves ? tenant.name + "/" + own : own;
      const auto found = std::find(phases_.begin(), phases_.end(), phase);
      place.phases.push_back(static_cast<std::uint16_t>(found - phases_.begin()));
      if (found == phases_.end()) {
        phases_.push_back(phase);
      }
    }
    if (phases_.size() > std::size_t{1} << 16) {
      throw ConfigError("the services of all jobs are more than 65536, each replica counted");
    }
  }

  template <class Count>
  std::uint64_t sum(Count count) const {
    std::uint64_t all = 0;
    for (const auto& work : works_) {
      all += count(*work);
    }
    return all;
  }

  // What works say, with the names of their jobs before it.
  template <class Names>
  std::vector<std::string> named(Names names) const {
    std::vector<std::string> all;
    for (std::size_t number = 0; number < works_.size(); ++number) {
      for (const std::string& own : names(*works_[number])) {
        all.push_back(experiment_.jobs[number].name + "/" + own);
      }
    }
    return all;
  }

  const Experiment& experiment_;
  std::vector<std::unique_ptr<Work>> works_;
  std::vector<TenantPlace> places_;       // [jobs], as below
  std::vector<std::uint16_t> tenant_at_;  // [nodes]
  std::vector<Part> parts_;
  std::vector<std::string> names_;
  std::vector<std::string> phases_;
};

}  // namespace

std::unique_ptr<Work> work_of(const Experiment& experiment) {
  const Job* const job = experiment.only_job();
  return job != nullptr ? job->work(experiment) : std::make_unique<JointWork>(experiment);
}

}  // namespace tessera::sim
