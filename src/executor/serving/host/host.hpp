// The host of a serving system: requests, batches, and the parts of steps under way.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "serving/counts.hpp"
#include "serving/host/calls.hpp"
#include "serving/npu_use.hpp"
#include "serving/prefix_routes.hpp"
#include "serving/replica_scaling.hpp"
#include "serving/whole_steps.hpp"
#include "tessera/executor/serving/serving.hpp"
#include "tessera/pdes/engine.hpp"
#include "tessera/pdes/state.hpp"

namespace tessera::executor {

class ServingHost {
 public:
  explicit ServingHost(const ServingSetup& setup);

  void begin(pdes::Context& context);
  void arrive(pdes::Context& context, std::uint32_t tenant);
  // A step has been prepared.
  void prepared(pdes::Context& context, std::uint32_t number);
  // A core has done its share of a part, or a whole step is over.
  void hear(pdes::Context& context, std::uint16_t slot);
  // The same of a message of a core.
  void hear_from(pdes::Context& context, std::uint16_t slot, EntityId core);
  // The end of a whole step.
  void end_whole(pdes::Context& context, std::uint16_t slot);

  // For outlooks: what it will do by itself, the parts under way, each by its place and tenant
  // (none: what moves or is handed over), and how many units on other ranks are still to be heard
  // of for one, as far as is known.
  HostCalls& calls() { return calls_; }
  const HostCalls& calls() const { return calls_; }
  void visit_under_way(const std::function<void(std::uint16_t slot,
                                                std::optional<std::uint32_t> tenant)>& visit) const;
  std::uint32_t left_elsewhere(std::uint16_t slot) const {
    return slot < left_elsewhere_.size() ? left_elsewhere_[slot] : 0;
  }
  // Before which requests of each model still come by themselves; zero: not known of some.
  SimTime last_arrival() const;

  std::uint64_t unserved() const { return unserved_; }
  std::uint64_t served() const { return served_; }
  // When it heard or began something last.
  SimTime last() const { return last_; }
  std::vector<std::string> waiting(std::size_t most) const;
  std::vector<Service> services() const;
  std::vector<Service> service_totals() const;  // of models with replicas
  std::vector<Balance> balances(std::size_t tenant) const;
  // Of steps that have begun.
  Wide flops(std::size_t tenant) const { return tenants_[tenant].flops; }
  // Of these, on tiles, of all NPUs: what they had to go through.
  std::uint64_t parts_told() const { return parts_told_; }
  // Of keys and values, by all units.
  std::uint64_t carried_bytes() const { return carried_bytes_; }
  // Of blocks of caches, by all units, to tiers and back.
  std::uint64_t moved_bytes() const { return moved_bytes_; }
  // Of operands in DRAM, by all units in whole steps that have begun.
  Wide operand_bytes() const { return operand_bytes_; }

  void save(pdes::StateWriter& writer) const;
  void restore(pdes::StateReader& reader);
  std::size_t resident_bytes() const;

 private:
  class Listener;

  // A batch on its way through its model.
  struct StepState {
    std::uint32_t tenant = 0;
    SimTime since;     // which its requests wait
    SimTime target;    // that they want; never: none
    SimTime deadline;  // never: none
    serving::Batch batch;
    serving::Step parts;
    std::vector<std::vector<std::uint32_t>> later;  // [parts] that come after it
    std::vector<std::uint32_t> awaited;             // [parts] that it comes after and are not over
    std::uint32_t left = 0;
  };
  struct Ready {
    std::uint32_t step = 0;
    std::uint32_t part = 0;
  };
  // A part under way; its place is the tag of its messages.
  struct Running {
    std::uint32_t step = 0;
    std::uint32_t part = 0;
    std::uint32_t outstanding = 0;  // cores; 0: the place is free
  };
  // A request whose keys and values are on their way to a replica.
  struct Carry {
    serving::Carried what;
    std::uint32_t to = 0;
    std::uint32_t from = 0;  // that computes the prompt
  };
  // Of one that goes layer by layer: what of it is over.
  struct LayerCarry {
    bool has_come = false;
    bool is_computed = false;
  };
  struct TenantState {
    std::unique_ptr<serving::Batcher> batcher;
    std::uint64_t arrived = 0;  // requests
    // Of the lead, of those that come by themselves; not in checkpoints, as both follow from
    // `arrived`.
    std::unique_ptr<serving::ArrivalTimes> times;
    SimTime next_arrival;
    std::uint64_t asked = 0;      // of closed loops: arrived, or being thought of
    std::uint32_t in_flight = 0;  // steps
    std::uint16_t turn = 0;       // of the next one that tiles are told of
    Service service;
    Service total;                 // of the lead of several replicas, of all of them
    std::vector<Service> classes;  // of the lead, of all replicas
    ServingCounts counts;
    Wide flops = 0;
    SpentTime spent;                  // in whole steps
    std::uint64_t prompt_tokens = 0;  // of requests that are not served
    std::uint32_t next_replica = 0;   // of the lead, as the next ones
    std::uint64_t left = 0;           // requests that have come and are not over
    // Whose keys and values are on their way to it; in checkpoints these are `carries_`.
    std::uint64_t coming = 0;
    PrefixRoutes routes{1};                        // of the lead, of all replicas
    std::optional<ReplicaScaling> scaling;         // of the lead
    std::optional<ReplicaScaling> prompt_scaling;  // the same
  };

  const ServiceSettings& tenant_of(const StepState& step) const {
    return work_.tenants[step.tenant];
  }
  std::uint32_t npu_of(const StepState& step, const serving::StepPart& part) const {
    return tenant_of(step).npus[part.unit];
  }
  // Of a request of a tenant; 0: there are none.
  std::uint32_t class_of(std::uint32_t tenant, std::uint64_t request) const;
  void take_request(pdes::Context& context, std::uint32_t tenant);
  // Of the model whose requests come at `lead`: the replica that the next one goes to.
  std::uint32_t choose_replica(std::uint32_t lead, std::uint64_t number,
                               const serving::Request& request);
  std::uint32_t choose_generating(pdes::Context& context, std::uint32_t lead);
  void begin_carry(pdes::Context& context, std::uint32_t from, const serving::Carried& carried);
  void end_carry(pdes::Context& context, std::uint32_t number);
  // Of a step in that place, before it is told: where caches of requests go whose prompts it ends,
  // and how many of these each unit has in its layers; those are told. Empty: none go by layers.
  std::vector<std::uint32_t> begin_layers(pdes::Context& context, std::uint32_t number,
                                          std::uint16_t slot, const serving::StepSizes& sizes);
  void know_computed(std::uint32_t from, const serving::Carried& carried);
  // A replica's step is over: what was computed by it and has come.
  void end_layers(pdes::Context& context, std::uint32_t from);
  void hear_of_carry(pdes::Context& context, std::uint32_t number);
  bool nothing_comes(std::uint32_t replica) const;
  // Keys and values of a request are about to go to that replica.
  void expect(pdes::Context& context, std::uint32_t to);
  // The first of the replicas that do the same as this one, who of them is on (null: all), and
  // requests that each has until they are over or another has taken them over.
  std::uint32_t first_alike(std::uint32_t replica) const;
  const ReplicaScaling* scaling_of(std::uint32_t replica) const;
  std::vector<std::uint64_t> unfinished_alike(std::uint32_t replica) const;
  // Of replicas that come and go: whether one takes requests; what has happened until now; what
  // follows for its like from requests that have come or are over.
  bool takes_requests(std::uint32_t replica) const;
  bool is_on(std::uint32_t replica) const;
  void advance_scaling(pdes::Context& context, std::uint32_t lead);
  void scale(pdes::Context& context, std::uint32_t replica);
  void tell_replicas(std::uint32_t lead);
  double off_seconds(std::uint32_t replica) const;
  // What a tenant's service says, that of all replicas, and that of a class of requests.
  template <class Change>
  void count(std::uint32_t tenant, std::uint32_t of_class, Change change) {
    change(tenants_[tenant].service);
    if (work_.tenants[tenant].replicas > 1) {
      change(tenants_[work_.tenants[tenant].lead].total);
    }
    if (of_class > 0) {
      change(tenants_[work_.tenants[tenant].lead].classes[of_class - 1]);
    }
  }
  // Tells windows of what the tenant holds from now on.
  void hold(pdes::Context& context, std::uint32_t tenant);
  void end_batch(pdes::Context& context, std::uint32_t tenant, std::uint32_t step);
  // A client of a closed loop asks, once it has thought.
  void ask(pdes::Context& context, std::uint32_t tenant);
  bool may_ask(std::uint32_t tenant) const;
  // Of a model whose requests come by themselves: knows when the next one does.
  void await_next(std::uint32_t tenant);
  void schedule_arrival(pdes::Context& context, std::uint32_t tenant);
  // Begins all that may begin.
  void go_on(pdes::Context& context);
  bool begin_steps(pdes::Context& context);
  void begin_step(pdes::Context& context, std::uint32_t tenant, const serving::Batch& batch);
  void prepare(StepState& step) const;
  // Begins what waits for nothing, once blocks of the cache are where the step needs them.
  void let_begin(pdes::Context& context, std::uint32_t number);
  void begin_moves(pdes::Context& context, std::uint32_t number);
  bool begin_parts(pdes::Context& context);
  // False: there is nothing to do, and it is over.
  bool begin_part(pdes::Context& context, const Ready& ready, const serving::Start& start);
  // Tells all NPUs of the tenant of a step.
  void begin_walk(pdes::Context& context, const Ready& ready, const serving::Start& start);
  void begin_whole(pdes::Context& context, const Ready& ready);
  // Tells the tiles of a tenant how their time was spent, once: as its last step begins, so that
  // the end of the run is that of the step; or where that was not known, as it ends.
  void tell_spent(pdes::Context& context, std::uint32_t tenant, bool begins = false);
  bool have_begun(std::uint32_t tenant) const;
  void tell_spent_of(pdes::Context& context, std::uint32_t tenant);
  void make_ready(std::uint32_t number, const StepState& step);
  void count_running(SimTime now, const StepState& step, const serving::StepPart& part, int change);
  std::span<const std::uint32_t> running_at(std::uint32_t npu) const {
    return std::span(running_).subspan(npu * tenants_.size(), tenants_.size());
  }
  // Of the units of a tenant by its shares, until the last event.
  void put_price(std::uint32_t tenant, Service& service) const;
  void begin_exchange(pdes::Context& context, const Ready& ready);
  void tell(pdes::Context& context, EntityId core, std::uint16_t slot, std::uint64_t number,
            std::uint64_t share);
  void say(pdes::Context& context, EntityId core, unsigned kind, std::uint16_t slot,
           std::uint64_t word);
  std::uint16_t take_slot(const Ready& ready);
  // Units of the tenant that are on other ranks.
  void count_elsewhere(std::uint16_t slot, const ServiceSettings& tenant);
  void end_part(pdes::Context& context, const Ready& ready);
  void end_step(pdes::Context& context, std::uint32_t number);

  // In place of a part: keys and values are under way, whose number stands in place of a step.
  static constexpr std::uint32_t carry_part = 0xFFFFFFFF;
  // Blocks of the cache are, before the step of that number.
  static constexpr std::uint32_t move_part = 0xFFFFFFFE;

  ServingSetup setup_;
  const ServingWork& work_;
  std::unique_ptr<serving::Policy> policy_;
  SimTime begin_;  // from which arrivals count
  SimTime last_;
  std::vector<TenantState> tenants_;
  std::map<std::uint32_t, StepState> steps_;  // under way
  std::uint32_t next_step_ = 0;
  std::vector<Ready> ready_;  // parts that wait for cores, in order of their coming
  std::vector<Running> slots_;
  std::vector<std::uint16_t> free_slots_;
  std::vector<std::uint32_t> running_;  // [NPUs x tenants] parts
  NpuUse use_;
  std::uint64_t unserved_ = 0;  // requests of tenants that are not in the background
  std::uint64_t served_ = 0;    // of these
  std::uint64_t parts_told_ = 0;
  std::map<std::uint32_t, Carry> carries_;       // under way
  std::map<std::uint32_t, LayerCarry> layered_;  // of these
  std::uint32_t next_carry_ = 0;
  std::uint64_t carried_bytes_ = 0;
  std::uint64_t moved_bytes_ = 0;
  Wide operand_bytes_ = 0;
  std::unique_ptr<WholeSteps> whole_;  // null: steps are walked
  // For outlooks, and not in checkpoints.
  HostCalls calls_;
  std::vector<std::uint32_t> left_elsewhere_;  // [slots]
};

}  // namespace tessera::executor
