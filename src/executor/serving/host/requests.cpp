// Requests: when they come, where they go, and how they fare.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "serving/host/host.hpp"
#include "serving/messages.hpp"
#include "serving/service_counts.hpp"

namespace tessera::executor {

using serving::Request;

// Hears of tokens and requests of one tenant.
class ServingHost::Listener final : public serving::BatchListener {
 public:
  Listener(ServingHost& host, pdes::Context& context, std::uint32_t tenant)
      : host_(host),
        context_(context),
        tenant_(tenant),
        served_(host.work_.tenants[tenant]),
        state_(host.tenants_[tenant]) {}

  void on_token(std::uint64_t request, std::optional<SimTime> since) override {
    const SimTime now = context_.now();
    const std::uint32_t of_class = host_.class_of(tenant_, request);
    const Targets& targets = served_.targets_of(of_class);
    host_.count(tenant_, of_class, [&](Service& service) {
      give_token(service, now, since, targets);
      service.windows.give_token(now - host_.begin_);
    });
    if (host_.setup_.observer != nullptr) {
      host_.setup_.observer->on_token({static_cast<std::uint16_t>(tenant_), request, now, since});
    }
  }

  void on_served(const serving::Served& served) override {
    state_.prompt_tokens -= served.what.prompt;
    if (host_.work_.prefills(tenant_)) {
      Request whole = served_.requests->untimed(served.request);
      whole.arrival = served.what.arrival;
      if (whole.generate > 1) {
        hand_over({served.request, whole, served.begun, served.first, served.again});
        return;
      }
    }
    end(served);
  }

 private:
  // What is known of the part that computes the prompt.
  void hand_over(const serving::Carried& carried) {
    const std::uint32_t of_class = carried.what.of_class;
    const Targets& targets = served_.targets_of(of_class);
    const SimTime first = carried.first - carried.what.arrival;
    ++state_.service.served;
    state_.service.met += first <= targets.first_token ? 1 : 0;
    state_.service.again += carried.again;
    host_.count(tenant_, of_class, [&](Service& service) { serve_first(service, first, targets); });
    host_.begin_carry(context_, tenant_, carried);
  }

  void end(const serving::Served& served) {
    const Request& what = served.what;
    const Targets& targets = served_.targets_of(what.of_class);
    const bool was_carried = served_.prefill > 0 && !host_.work_.prefills(tenant_);
    const ServedTimes times{served.first - what.arrival, served.last - what.arrival, what.generate};
    state_.service.again += served.again;
    if (what.of_class > 0) {
      host_.tenants_[served_.lead].classes[what.of_class - 1].again += served.again;
    }
    host_.count(tenant_, what.of_class, [&](Service& service) {
      serve(service, times, what.samples, served_, targets, !was_carried);
      service.windows.serve(context_.now() - host_.begin_, times.first, times.a_token(),
                            times.whole, times.meet(targets));
    });
    if (host_.setup_.observer != nullptr) {
      host_.setup_.observer->on_request({static_cast<std::uint16_t>(tenant_), served.request,
                                         served_.of_language ? 0 : what.samples, what.prompt,
                                         what.generate, served.again, what.arrival, served.begun,
                                         served.first, served.last});
    }
    --host_.tenants_[served_.lead].left;
    if (!served_.background) {
      --host_.unserved_;
      ++host_.served_;
    }
    if (served_.requests->clients() > 0 && host_.may_ask(served_.lead)) {
      host_.ask(context_, served_.lead);
    }
  }

  ServingHost& host_;
  pdes::Context& context_;
  std::uint32_t tenant_;
  const ServiceSettings& served_;
  TenantState& state_;
};

void ServingHost::end_batch(pdes::Context& context, std::uint32_t tenant, std::uint32_t step) {
  Listener listener(*this, context, tenant);
  tenants_[tenant].batcher->end(step, context.now(), listener);
  end_layers(context, tenant);
  scale(context, tenant);
  hold(context, tenant);
}

void ServingHost::hold(pdes::Context& context, std::uint32_t tenant) {
  const ServiceSettings& served = work_.tenants[tenant];
  const SimTime now = context.now() - begin_;
  advance_scaling(context, served.lead);
  const serving::BatchLoad load = tenants_[tenant].batcher->load();
  TenantState& lead = tenants_[served.lead];
  const ServiceLoad own{load.running, load.waiting, load.blocks,
                        is_on(tenant) ? std::uint64_t{1} : 0};
  ServiceWindows& windows = tenants_[tenant].service.windows;
  if (setup_.observer != nullptr && !own.holds_as(windows.load())) {
    setup_.observer->on_service_load({static_cast<std::uint16_t>(tenant), context.now(),
                                      own.running, own.waiting, own.cache_blocks});
  }
  windows.hold(now, own);
  const auto sum_of = [&](const auto& load_of) {
    ServiceLoad sum;
    for (std::uint32_t replica = served.lead; replica < served.lead + served.replicas; ++replica) {
      const serving::BatchLoad of_replica = load_of(*tenants_[replica].batcher);
      sum.running += of_replica.running;
      sum.waiting += of_replica.waiting;
      sum.cache_blocks += of_replica.blocks;
    }
    return sum;
  };
  if (served.replicas > 1) {
    ServiceLoad all = sum_of([](const serving::Batcher& batcher) { return batcher.load(); });
    all.replicas = lead.total.windows.load().replicas;
    lead.total.windows.hold(now, all);
  }
  for (std::uint32_t number = 0; number < served.classes.size(); ++number) {
    lead.classes[number].windows.hold(now, sum_of([number](const serving::Batcher& batcher) {
                                        return batcher.load_of(number + 1);
                                      }));
  }
}

std::uint32_t ServingHost::class_of(std::uint32_t tenant, std::uint64_t request) const {
  const ServiceSettings& served = work_.tenants[tenant];
  return served.classes.empty() ? 0 : served.requests->class_of(request);
}

void ServingHost::begin(pdes::Context& context) {
  calls_.remove(HostCall::begin, context.now());
  begin_ = context.now();
  for (std::uint32_t tenant = 0; tenant < tenants_.size(); ++tenant) {
    if (work_.tenants[tenant].lead != tenant) {
      continue;
    }
    const std::uint32_t clients = work_.tenants[tenant].requests->clients();
    if (clients == 0) {
      tenants_[tenant].times.reset();
      await_next(tenant);
      schedule_arrival(context, tenant);
    }
    for (std::uint32_t client = 0; client < clients && may_ask(tenant); ++client) {
      ask(context, tenant);
    }
  }
  go_on(context);
}

bool ServingHost::may_ask(std::uint32_t tenant) const {
  const ServiceSettings& asked = work_.tenants[tenant];
  const TenantState& state = tenants_[tenant];
  const auto count = asked.requests->count();
  const std::uint64_t so_far = asked.requests->clients() > 0 ? state.asked : state.arrived;
  return (!asked.background || unserved_ > 0) && (!count || so_far < *count);
}

void ServingHost::ask(pdes::Context& context, std::uint32_t tenant) {
  const SimTime think = work_.tenants[tenant].requests->think(tenants_[tenant].asked++);
  if (think == SimTime::zero()) {
    take_request(context, tenant);
  } else {
    context.send_self(think, pdes::Port(setup_.slot, serving_call_kind), tenant,
                      static_cast<std::uint16_t>(HostCall::arrive));
    calls_.add(HostCall::arrive, context.now() + think);
  }
}

void ServingHost::take_request(pdes::Context& context, std::uint32_t tenant) {
  const ServiceSettings& lead = work_.tenants[tenant];
  const std::uint64_t number = tenants_[tenant].arrived++;
  Request request = lead.requests->untimed(number);
  request.arrival = context.now();
  await_next(tenant);
  ++tenants_[tenant].left;
  advance_scaling(context, tenant);
  const std::uint32_t chosen = choose_replica(tenant, number, request);
  if (work_.prefills(chosen)) {
    request.generate = std::min(request.generate, 1U);
  }
  TenantState& state = tenants_[chosen];
  state.counts.arrive(request);
  state.prompt_tokens += request.prompt;
  state.batcher->arrive(number, request);
  count(chosen, request.of_class,
        [&](Service& service) { service.windows.arrive(context.now() - begin_); });
  scale(context, chosen);
  hold(context, chosen);
}

std::uint32_t ServingHost::choose_replica(std::uint32_t lead, std::uint64_t number,
                                          const Request& request) {
  const ServiceSettings& tenant = work_.tenants[lead];
  TenantState& state = tenants_[lead];
  const std::uint32_t replicas = tenant.prefill > 0 ? tenant.prefill : tenant.replicas;
  if (tenant.router == Router::round_robin) {
    std::uint32_t next = state.next_replica;
    while (!takes_requests(lead + next)) {
      next = (next + 1) % replicas;
    }
    state.next_replica = (next + 1) % replicas;
    return lead + next;
  }
  // What a prompt begins with: a name, or its blocks.
  std::span<const std::uint32_t> blocks = tenant.requests->pieces(number);
  std::uint64_t of_block = tenant.requests->piece_tokens();
  if (blocks.empty() && request.prefix != 0) {
    blocks = std::span(&request.prefix, 1);
    of_block = request.prefix_tokens;
  }
  const bool by_prefix = tenant.router == Router::prefix;
  const std::vector<std::uint32_t> known =
      by_prefix ? state.routes.known(blocks, request.adapter, replicas)
                : std::vector<std::uint32_t>();
  const auto work = [&](std::uint32_t replica) {
    std::uint64_t tokens = tenants_[replica].prompt_tokens;
    if (by_prefix) {
      tokens += request.prompt -
                std::min<std::uint64_t>(of_block * known[replica - lead], request.prompt);
    }
    return std::pair(tokens, tenants_[replica].batcher->unfinished());
  };
  std::uint32_t best = lead;
  auto least = work(lead);
  for (std::uint32_t replica = lead + 1; replica < lead + replicas; ++replica) {
    const auto own = work(replica);
    if (takes_requests(replica) && own < least) {
      best = replica;
      least = own;
    }
  }
  if (by_prefix) {
    state.routes.sent(blocks, request.adapter, best - lead);
  }
  return best;
}

void ServingHost::schedule_arrival(pdes::Context& context, std::uint32_t tenant) {
  if (may_ask(tenant)) {
    const SimTime at = begin_ + tenants_[tenant].next_arrival;
    context.send_self(at - context.now(), pdes::Port(setup_.slot, serving_call_kind), tenant,
                      static_cast<std::uint16_t>(HostCall::arrive));
    calls_.add(HostCall::arrive, at);
  }
}

void ServingHost::await_next(std::uint32_t tenant) {
  const serving::RequestSource& requests = *work_.tenants[tenant].requests;
  TenantState& state = tenants_[tenant];
  if (requests.clients() > 0 || state.arrived >= requests.count().value_or(0)) {
    return;
  }
  if (!state.times) {
    state.times = requests.times_from(state.arrived);
  }
  state.next_arrival = state.times->next();
}

SimTime ServingHost::last_arrival() const {
  SimTime first = SimTime::never();
  for (std::uint32_t tenant = 0; tenant < tenants_.size(); ++tenant) {
    const ServiceSettings& served = work_.tenants[tenant];
    const auto count = served.requests->count();
    const bool comes = served.requests->clients() == 0 && count.value_or(0) > 0;
    if (served.lead == tenant) {
      first = std::min(first, comes ? begin_ + served.requests->last_arrival() : SimTime::zero());
    }
  }
  return first;
}

void ServingHost::arrive(pdes::Context& context, std::uint32_t tenant) {
  calls_.remove(HostCall::arrive, context.now());
  if (work_.tenants[tenant].requests->clients() > 0) {
    // Others may have been served meanwhile, so that nobody waits for a tenant in the background.
    if (!work_.tenants[tenant].background || unserved_ > 0) {
      take_request(context, tenant);
      go_on(context);
    } else {
      --tenants_[tenant].asked;
      tell_spent(context, tenant);
    }
    return;
  }
  while (may_ask(tenant) && begin_ + tenants_[tenant].next_arrival <= context.now()) {
    take_request(context, tenant);
  }
  schedule_arrival(context, tenant);
  go_on(context);
}

}  // namespace tessera::executor
