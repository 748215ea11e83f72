#include "serving/host/host.hpp"

#include <algorithm>
#include <utility>

#include "serving/messages.hpp"
#include "serving/sending.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {

using serving::Batch;
using serving::OperatorName;
using serving::Start;
using serving::StepPart;
using serving::StepSizes;

ServingHost::ServingHost(const ServingSetup& setup)
    : setup_(setup),
      work_(setup.work),
      policy_(work_.policy()),
      running_(work_.npus.size() * work_.tenants.size()),
      use_(work_),
      unserved_(work_.requests()) {
  for (const ServiceSettings& tenant : work_.tenants) {
    TenantState& state = tenants_.emplace_back();
    state.batcher = tenant.of_language
                        ? serving::make_sequence_batcher(tenant.batching, tenant.requests.get())
                        : serving::make_sample_batcher(tenant.batching);
    if (tenant.lead + 1 == tenants_.size()) {
      state.routes = PrefixRoutes(tenant.replicas);
      state.classes.resize(tenant.classes.size());
      state.total.windows.begin_with(tenant.on_at_first());
      if (tenant.scaling) {
        state.scaling.emplace(*tenant.scaling, tenant.scaled());
      }
      if (tenant.prompt_scaling) {
        state.prompt_scaling.emplace(*tenant.prompt_scaling, tenant.prefill);
      }
    }
    const auto replica = static_cast<std::uint32_t>(tenants_.size() - 1);
    state.service.windows.begin_with(is_on(replica) ? 1 : 0);
    if (work_.whole_steps) {
      state.spent.end.resize(tenant.npus.size());
      state.spent.busy.resize(tenant.npus.size());
      state.spent.exchanging.resize(tenant.npus.size());
      state.spent.has_stages = tenant.model->stages() > 1;
    }
  }
  if (work_.whole_steps) {
    whole_ = std::make_unique<WholeSteps>(setup_);
  }
  if (setup_.outlook.regions != nullptr) {
    calls_.keep();
  }
}

// --- steps ---------------------------------------------------------------------------------------

void ServingHost::go_on(pdes::Context& context) {
  last_ = context.now();
  // A part without work is over at once, which may begin others.
  while (begin_steps(context) || begin_parts(context)) {
  }
}

bool ServingHost::begin_steps(pdes::Context& context) {
  bool some = false;
  for (std::uint32_t tenant = 0; tenant < tenants_.size(); ++tenant) {
    while (tenants_[tenant].in_flight < work_.tenants[tenant].batching.in_flight) {
      const auto batch = tenants_[tenant].batcher->next(next_step_, context.now());
      if (!batch) {
        break;
      }
      begin_step(context, tenant, *batch);
      some = true;
    }
  }
  return some;
}

void ServingHost::begin_step(pdes::Context& context, std::uint32_t tenant, const Batch& batch) {
  const std::uint32_t number = next_step_++;
  StepState& step = steps_[number];
  step.tenant = tenant;
  step.batch = batch;
  prepare(step);
  const serving::Batcher::Waiting waiting = tenants_[tenant].batcher->waiting(number);
  const Targets& targets = work_.tenants[tenant].targets_of(waiting.of_class);
  step.since = waiting.since.is_never() ? context.now() : waiting.since;
  step.target = !work_.tenants[tenant].of_language ? targets.latency
                : waiting.since.is_never()         ? SimTime::never()
                : waiting.first                    ? targets.first_token
                                                   : targets.between_tokens;
  step.deadline = step.target.is_never() ? step.target : step.since + step.target;
  for (std::uint32_t part = 0; part < step.parts.size(); ++part) {
    step.awaited.push_back(static_cast<std::uint32_t>(step.parts[part].after.size()));
  }
  const ServiceSettings& served = work_.tenants[tenant];
  const SimTime host = served.host + served.draft * std::int64_t{batch.drafts};
  if (host > SimTime::zero()) {
    context.send_self(host, pdes::Port(setup_.slot, serving_call_kind), number,
                      static_cast<std::uint16_t>(HostCall::prepared));
    calls_.add(HostCall::prepared, context.now() + host);
  } else {
    let_begin(context, number);
  }
  step.left = static_cast<std::uint32_t>(step.parts.size());
  ++tenants_[tenant].in_flight;
  tenants_[tenant].counts.begin(batch);
  hold(context, tenant);
  tenants_[tenant].flops += work_.tenants[tenant].model->flops(batch);
}

// Parts that wait for nothing.
void ServingHost::make_ready(std::uint32_t number, const StepState& step) {
  for (std::uint32_t part = 0; part < step.parts.size(); ++part) {
    if (step.awaited[part] == 0) {
      ready_.push_back({number, part});
    }
  }
}

void ServingHost::prepared(pdes::Context& context, std::uint32_t number) {
  calls_.remove(HostCall::prepared, context.now());
  let_begin(context, number);
  go_on(context);
}

// What follows from the batch.
void ServingHost::prepare(StepState& step) const {
  step.parts = tenant_of(step).model->step(step.batch);
  ensure(!step.parts.empty(), "a step has parts");
  step.later.resize(step.parts.size());
  for (std::uint32_t part = 0; part < step.parts.size(); ++part) {
    for (const std::uint32_t before : step.parts[part].after) {
      step.later[before].push_back(part);
    }
  }
}

bool ServingHost::begin_parts(pdes::Context& context) {
  if (ready_.empty()) {
    return false;
  }
  const std::vector<Ready> ready = std::exchange(ready_, {});
  std::vector<Ready> operators;
  std::vector<serving::Candidate> candidates;
  for (const Ready& one : ready) {
    const StepState& step = steps_.at(one.step);
    const StepPart& part = step.parts[one.part];
    if (part.exchanges) {
      begin_exchange(context, one);
    } else {
      operators.push_back(one);
      candidates.push_back({step.tenant, npu_of(step, part), step.deadline});
    }
  }
  std::vector<char> busy;
  for (const TenantState& tenant : tenants_) {
    busy.push_back(tenant.in_flight > 0 ? 1 : 0);
  }
  const std::vector<Start> starts = policy_->choose({context.now(), candidates, running_, busy});
  std::vector<bool> begun(operators.size());
  for (const Start& start : starts) {
    begun[start.candidate] = true;
  }
  std::vector<Ready> left;
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (!begun[i]) {
      left.push_back(operators[i]);
    }
  }
  ready_ = std::move(left);
  bool some_over = false;
  for (const Start& start : starts) {
    if (!begin_part(context, operators[start.candidate], start)) {
      end_part(context, operators[start.candidate]);
      some_over = true;
    }
  }
  return some_over;
}

bool ServingHost::begin_part(pdes::Context& context, const Ready& ready, const Start& start) {
  const StepState& step = steps_.at(ready.step);
  const StepPart& part = step.parts[ready.part];
  if (work_.on_tiles) {
    if (whole_) {
      begin_whole(context, ready);
    } else {
      begin_walk(context, ready, start);
    }
    return true;
  }
  const std::uint64_t number = OperatorName{step.tenant, part.op, part.shape}.code();
  const std::uint64_t groups =
      setup_.operators->make(setup_.operators->kind_of(number), start.cores.count)->groups();
  if (groups == 0) {
    return false;
  }
  const std::uint16_t slot = take_slot(ready);
  const ShareOf share{start.cores, start.priority, ready.step};
  const std::uint32_t npu = npu_of(step, part);
  for (std::uint32_t i = 0; i < start.cores.count; ++i) {
    const std::uint32_t place = start.cores.first + i;
    if (share.first_group(part.op, place) < groups) {
      ++slots_[slot].outstanding;
      tell(context, work_.npus[npu][place], slot, number, share.word());
    }
  }
  count_running(context.now(), step, part, 1);
  return true;
}

void ServingHost::begin_walk(pdes::Context& context, const Ready& ready, const Start& start) {
  const StepState& step = steps_.at(ready.step);
  const StepPart& part = step.parts[ready.part];
  const ServiceSettings& tenant = tenant_of(step);
  const serving::TileModel& model = *tenant.model->on_tiles();
  const StepSizes sums = model.sizes_of(step.batch);
  const auto sizes = sums.words();
  const std::uint64_t number = OperatorName{step.tenant, part.op, sizes[0]}.code();
  const std::uint16_t slot = take_slot(ready);
  const std::vector<std::uint32_t> leaving = begin_layers(context, ready.step, slot, sums);
  slots_[slot].outstanding = static_cast<std::uint32_t>(tenant.npus.size());
  count_elsewhere(slot, tenant);
  for (std::uint32_t unit = 0; unit < tenant.npus.size(); ++unit) {
    const EntityId tile = work_.npus[tenant.npus[unit]].front();
    const auto leaves = static_cast<std::uint16_t>(leaving.empty() ? 0 : leaving[unit]);
    const WalkOf walk{leaves, tenants_[step.tenant].turn, start.priority, ready.step};
    tell(context, tile, slot, number, walk.word());
    for (std::size_t word = 1; word <= serving_size_kinds.size(); ++word) {
      say(context, tile, serving_size_kinds[word - 1], slot, sizes[word]);
    }
    for (std::uint64_t more = 0; more < StepSizes::more; ++more) {
      if ((model.more_words() >> more & 1U) != 0) {
        say(context, tile, serving_more_kind, slot,
            sizes[1 + serving_size_kinds.size() + more] | more << StepSizes::more_bits);
      }
    }
    parts_told_ += model.walk(unit, sums).size();
  }
  std::uint16_t& turn = tenants_[step.tenant].turn;
  turn = WalkOf::turn_after(turn);
  count_running(context.now(), step, part, 1);
}

void ServingHost::begin_whole(pdes::Context& context, const Ready& ready) {
  const StepState& step = steps_.at(ready.step);
  const ServiceSettings& tenant = tenant_of(step);
  SpentTime& spent = tenants_[step.tenant].spent;
  const WholeStep whole =
      whole_->of(step.tenant, tenant.model->on_tiles()->sizes_of(step.batch), context.now(), spent);
  spent.add(whole, context.now());
  operand_bytes_ += whole.operands;
  const std::uint16_t slot = take_slot(ready);
  slots_[slot].outstanding = 1;
  context.send_self(whole.over, pdes::Port(setup_.slot, serving_whole_kind), std::uint32_t{0},
                    slot);
  calls_.add(HostCall::whole, context.now() + whole.over);
  count_running(context.now(), step, step.parts[ready.part], 1);
  tell_spent(context, step.tenant, true);
}

// Whether all steps of the tenant that were put together have begun.
bool ServingHost::have_begun(std::uint32_t tenant) const {
  const auto begun = std::count_if(slots_.begin(), slots_.end(), [&](const Running& running) {
    return running.outstanding > 0 && running.part != carry_part && running.part != move_part &&
           steps_.at(running.step).tenant == tenant;
  });
  return begun == std::int64_t{tenants_[tenant].in_flight};
}

void ServingHost::tell_spent(pdes::Context& context, std::uint32_t tenant, bool begins) {
  const ServiceSettings& lead = work_.tenants[work_.tenants[tenant].lead];
  const TenantState& state = tenants_[lead.lead];
  const bool is_closed = lead.requests->clients() > 0;
  if (!whole_ || may_ask(lead.lead) || (is_closed && state.asked > state.arrived)) {
    return;
  }
  for (std::uint32_t replica = lead.lead; replica < lead.lead + lead.replicas; ++replica) {
    const serving::Batcher& batcher = *tenants_[replica].batcher;
    const bool is_last =
        replica == tenant && begins && batcher.end_with_steps() && have_begun(replica);
    if (!tenants_[replica].spent.is_told && (is_last || batcher.unfinished() == 0) &&
        nothing_comes(replica)) {
      tell_spent_of(context, replica);
    }
  }
}

void ServingHost::tell_spent_of(pdes::Context& context, std::uint32_t tenant) {
  const ServiceSettings& served = work_.tenants[tenant];
  TenantState& state = tenants_[tenant];
  state.spent.is_told = true;
  for (std::size_t unit = 0; unit < served.npus.size(); ++unit) {
    const auto say_spent = [&](SpentWord word, SimTime time) {
      for (const EntityId tile : work_.npus[served.npus[unit]]) {
        say(context, tile, serving_spent_kind, static_cast<std::uint16_t>(word),
            static_cast<std::uint64_t>(time.ps()));
      }
    };
    say_spent(SpentWord::busy, state.spent.busy[unit]);
    say_spent(SpentWord::exchanging, state.spent.exchanging[unit]);
    say_spent(SpentWord::end, state.spent.end[unit]);
  }
}

// Of NPUs of cores those of the part, of tiles all that the step goes through.
void ServingHost::count_running(SimTime now, const StepState& step, const StepPart& part,
                                int change) {
  const auto count = [&](std::uint32_t npu) {
    use_.advance(npu, now, running_at(npu));
    running_[npu * tenants_.size() + step.tenant] += static_cast<std::uint32_t>(change);
  };
  if (!work_.on_tiles) {
    count(npu_of(step, part));
    return;
  }
  for (const std::uint32_t npu : tenant_of(step).npus) {
    count(npu);
  }
}

void ServingHost::begin_exchange(pdes::Context& context, const Ready& ready) {
  const StepState& step = steps_.at(ready.step);
  const StepPart& part = step.parts[ready.part];
  const ServiceSettings& tenant = tenant_of(step);
  const serving::Exchange exchange = tenant.model->exchange(part.op, part.shape);
  const std::uint64_t number = OperatorName{step.tenant, part.op, part.shape}.code();
  const std::uint16_t slot = take_slot(ready);
  slots_[slot].outstanding = exchange.units * work_.cores();
  for (std::uint32_t unit = 0; unit < exchange.units; ++unit) {
    for (const EntityId core : work_.npus[tenant.npus[exchange.first + unit]]) {
      tell(context, core, slot, number, ShareOf{{}, 0, ready.step}.word());
    }
  }
}

void ServingHost::tell(pdes::Context& context, EntityId core, std::uint16_t slot,
                       std::uint64_t number, std::uint64_t share) {
  say(context, core, serving_named_kind, slot, number);
  say(context, core, serving_shared_kind, slot, share);
}

void ServingHost::say(pdes::Context& context, EntityId core, unsigned kind, std::uint16_t slot,
                      std::uint64_t word) {
  send_message(context, setup_, core, work_.message, kind, slot, word);
}

std::uint16_t ServingHost::take_slot(const Ready& ready) {
  std::uint16_t slot = 0;
  if (free_slots_.empty()) {
    ensure(slots_.size() < 0xFFFF, "more parts under way than tags tell apart");
    slot = static_cast<std::uint16_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  slots_[slot] = {ready.step, ready.part, 0};
  return slot;
}

void ServingHost::count_elsewhere(std::uint16_t slot, const ServiceSettings& tenant) {
  if (setup_.outlook.regions == nullptr) {
    return;
  }
  left_elsewhere_.resize(std::max<std::size_t>(left_elsewhere_.size(), slots_.size()));
  left_elsewhere_[slot] = static_cast<std::uint32_t>(
      std::count_if(tenant.npus.begin(), tenant.npus.end(), [this](std::uint32_t npu) {
        return !setup_.outlook.regions->is_here(work_.npus[npu].front());
      }));
}

void ServingHost::hear_from(pdes::Context& context, std::uint16_t slot, EntityId core) {
  if (left_elsewhere(slot) > 0 && !setup_.outlook.regions->is_here(core)) {
    --left_elsewhere_[slot];
  }
  hear(context, slot);
}

void ServingHost::end_whole(pdes::Context& context, std::uint16_t slot) {
  calls_.remove(HostCall::whole, context.now());
  hear(context, slot);
}

void ServingHost::visit_under_way(
    const std::function<void(std::uint16_t slot, std::optional<std::uint32_t> tenant)>& visit)
    const {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    const Running& running = slots_[slot];
    if (running.outstanding > 0) {
      const bool is_step = running.part != carry_part && running.part != move_part;
      visit(static_cast<std::uint16_t>(slot),
            is_step ? std::optional(steps_.at(running.step).tenant) : std::nullopt);
    }
  }
}

void ServingHost::hear(pdes::Context& context, std::uint16_t slot) {
  Running& running = slots_[slot];
  ensure(running.outstanding > 0, "a share of a part that is over");
  last_ = context.now();
  if (--running.outstanding > 0) {
    return;
  }
  const Ready over{running.step, running.part};
  free_slots_.push_back(slot);
  if (over.part == carry_part) {
    hear_of_carry(context, over.step);
    return;
  }
  if (over.part == move_part) {
    make_ready(over.step, steps_.at(over.step));
    go_on(context);
    return;
  }
  const StepState& step = steps_.at(over.step);
  const StepPart& part = step.parts[over.part];
  if (!part.exchanges) {
    count_running(context.now(), step, part, -1);
  }
  end_part(context, over);
  go_on(context);
}

void ServingHost::end_part(pdes::Context& context, const Ready& ready) {
  StepState& step = steps_.at(ready.step);
  for (const std::uint32_t later : step.later[ready.part]) {
    if (--step.awaited[later] == 0) {
      ready_.push_back({ready.step, later});
    }
  }
  if (--step.left == 0) {
    end_step(context, ready.step);
  }
}

void ServingHost::end_step(pdes::Context& context, std::uint32_t number) {
  const auto found = steps_.find(number);
  const StepState& step = found->second;
  const std::uint32_t tenant = step.tenant;
  --tenants_[tenant].in_flight;
  if (!step.target.is_never()) {
    policy_->step_over(tenant, context.now() - step.since, step.target);
  }
  steps_.erase(found);
  end_batch(context, tenant, number);
  tell_spent(context, tenant);
}

}  // namespace tessera::executor
