#include "graph/collectives.hpp"

#include <algorithm>
#include <optional>

#include "graph/graph_outlook.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {

namespace {

CollectiveId as_in_messages(const CollectiveId& id) {
  return {id.group, id.number & ((1U << number_bits) - 1)};
}

}  // namespace

// What a run of a collective asks for, done at one NPU in the present event.
class GraphCollectives::Actions final : public collective::RunActions {
 public:
  Actions(GraphCollectives& collectives, pdes::Context& context, GraphNpu& npu,
          ActiveCollective& active)
      : collectives_(collectives), context_(context), npu_(npu), active_(active) {}

  void send(std::uint32_t dimension, std::uint32_t coordinate, const collective::StepName& name,
            Bytes bytes) override {
    const std::uint32_t to = active_.plan->npu_at(npu_.number, dimension, coordinate);
    const MessageId id = collectives_.message_of(active_.id, name);
    collectives_.sums_[active_.sum].sent += active_.sum == unequal ? 1 : bytes.count();
    collectives_.sent_bytes_ += active_.may_be_lumped ? 0 : bytes.count();
    const EntityId target = collectives_.work_.nodes[to];
    GraphOutlook* const outlook = collectives_.outlook_;
    const bool is_followed =
        outlook != nullptr && outlook->send(context_.self(), target, bytes,
                                            {context_.self(), id.tag, id.word, context_.now()});
    network::send(context_, collectives_.setup_.network_slot, target, bytes,
                  collectives_.ports_.arrival, id.tag, id.word,
                  static_cast<std::uint8_t>(network::connection_flag |
                                            (is_followed ? network::followed_flag : 0)));
    if (!active_.may_be_lumped) {
      collectives_.log_.send(context_, collectives_.work_.nodes[to], id, bytes);
    }
  }
  bool take_early(const collective::StepName& name) override {
    const MessageId id = collectives_.message_of(active_.id, name);
    if (!npu_.take_early(id)) {
      return false;
    }
    collectives_.log_taken(context_, npu_, active_, id);
    return true;
  }
  void taken(std::optional<Bytes> bytes) override {
    collectives_.sums_[active_.sum].received += bytes ? bytes->count() : 1;
  }
  void phase_begins(std::uint32_t chunk, std::uint16_t phase) override {
    active_.phases.push_back({chunk, phase, context_.now()});
  }
  void phase_ends(std::uint32_t chunk, std::uint16_t phase) override {
    const auto open = std::find_if(
        active_.phases.begin(), active_.phases.end(),
        [&](const OpenPhase& one) { return one.chunk == chunk && one.phase == phase; });
    ensure(open != active_.phases.end(), "a phase that ends has begun");
    collectives_.report(context_, npu_, active_, *open);
    active_.phases.erase(open);
  }
  void wait(SimTime time, const collective::StepName& name) override {
    if (collectives_.outlook_ != nullptr) {
      const MessageId id = name_of_wait(active_.id, name);
      collectives_.outlook_->expect(context_.self(),
                                    {EntityId::none(), id.tag, id.word, context_.now() + time});
    }
    context_.send_self(time, collectives_.ports_.step,
                       StepEvent{active_.id.group, active_.id.number, name.chunk, name.phase,
                                 name.lane, name.step});
  }

 private:
  GraphCollectives& collectives_;
  pdes::Context& context_;
  GraphNpu& npu_;
  ActiveCollective& active_;
};

void GraphCollectives::begin(pdes::Context& context, GraphNpu& npu, Place place) {
  const Task& task = npu.tasks[place];
  const CollectiveId id{task.group, task.number};
  const ActiveCollective& active = add(npu, id, place);
  if (active.may_be_lumped) {
    announce_ring(context, npu, active);
  }
  advance(context, npu, id, [](auto& one, auto& actions) { one.run->begin(actions); });
}

void GraphCollectives::elapsed(pdes::Context& context, GraphNpu& npu, const pdes::Event& event) {
  const auto step = event.as<StepEvent>();
  if (outlook_ != nullptr) {
    const MessageId id = name_of(step);
    outlook_->arrive(context.index(), EntityId::none(), id.tag, id.word);
  }
  advance(context, npu, {step.group, step.number}, [&](auto& active, auto& actions) {
    active.run->elapsed({step.chunk, step.phase, step.lane, step.step}, actions);
  });
}

MessageId GraphCollectives::name_of(const StepEvent& step) {
  return name_of_wait({step.group, step.number}, {step.chunk, step.phase, step.lane, step.step});
}

void GraphCollectives::take_in(const pdes::Event& event) {
  const MessageId id = name_of(event.as<StepEvent>());
  outlook_->expect(EntityId(event.target), {EntityId::none(), id.tag, id.word, event.time});
}

void GraphCollectives::arrived(pdes::Context& context, GraphNpu& npu,
                               const network::Arrival& arrival, std::uint16_t tag) {
  const MessageId message{arrival.word, 0, tag};
  log_.arrive(context, npu.unreported, message);
  auto [id, name] = parts_of(arrival.word, tag);
  id.group -= work_.first_group;
  bool taken = false;
  advance(context, npu, id, [&, step = name](auto& active, auto& actions) {
    if (arrival.untold > 0) {
      active.run->passed_on(step, arrival.untold);
    }
    taken = active.run->arrived(step, actions);
    if (taken) {
      log_taken(context, npu, active, message);
    }
  });
  if (!taken) {
    ++npu.early[message];
  }
}

ActiveCollective& GraphCollectives::add(GraphNpu& npu, const CollectiveId& id, Place place) {
  const Task& task = npu.tasks[place];
  ActiveCollective& active = npu.collectives.emplace_back();
  active.id = id;
  npu.collective_ids.push_back(as_in_messages(id));
  active.place = place;
  active.plan = &plans_.of(task);
  active.may_be_lumped =
      setup_.lumps_rings && !task.has_parts && active.plan->ring_part(npu.number).has_value();
  active.sum = task.has_parts ? unequal : static_cast<std::size_t>(task.collective);
  std::optional<std::uint32_t> root;
  if (collective::has_root(task.collective)) {
    root = work_.groups[task.group].members[task.peer];
  }
  active.run = task.has_parts ? active.plan->unequal_run(npu.number, npu.tasks.parts(place))
                              : active.plan->run(npu.number, root);
  return active;
}

// Nobody can say when each message of a lumped ring came: such collectives are in no record.
void GraphCollectives::log_taken(const pdes::Context& context, GraphNpu& npu,
                                 const ActiveCollective& active, const MessageId& message) const {
  if (active.may_be_lumped) {
    log_.forget(npu.unreported, message);
  } else {
    log_.take(context, npu.unreported, message);
  }
}

void GraphCollectives::announce_ring(pdes::Context& context, const GraphNpu& npu,
                                     const ActiveCollective& active) {
  auto part = active.plan->ring_part(npu.number);
  part->word = message_of(active.id, {}).word;
  if (part->member == 0) {  // in each step all of the vector goes over the ring once
    sent_bytes_ += part->steps * active.plan->phase_bytes(npu.number, 0, 0).count();
  }
  context.send_self(SimTime::zero(), pdes::Port(setup_.network_slot, network::ring_kind), *part);
}

std::vector<Balance> GraphCollectives::balances() const {
  std::vector<Balance> all;
  for (std::size_t kind = 0; kind < collective::kinds; ++kind) {
    all.push_back({to_string(static_cast<collective::Kind>(kind)) + " bytes sent and received",
                   sums_[kind].sent, sums_[kind].received});
  }
  all.push_back({"messages of all-to-alls of unequal sizes sent and received", sums_[unequal].sent,
                 sums_[unequal].received});
  return all;
}

void GraphCollectives::add(pdes::StateReader& reader) {
  const auto more = reader.get<decltype(sums_)>();
  for (std::size_t i = 0; i < more.size(); ++i) {
    sums_[i].sent += more[i].sent;
    sums_[i].received += more[i].received;
  }
  sent_bytes_ += reader.get<std::uint64_t>();
}

// Hands a collective what has happened, if it is under way at all.
template <class Act>
void GraphCollectives::advance(pdes::Context& context, GraphNpu& npu, const CollectiveId& id,
                               const Act& act) {
  const auto found =
      std::find(npu.collective_ids.begin(), npu.collective_ids.end(), as_in_messages(id));
  if (found == npu.collective_ids.end()) {
    return;
  }
  const auto active = npu.collectives.begin() + (found - npu.collective_ids.begin());
  Actions actions(*this, context, npu, *active);
  act(*active, actions);
  if (active->run->is_over()) {
    context.send_self(SimTime::zero(), ports_.over, active->place);
    npu.ends_in_own_event(active->place);
    npu.collectives.erase(active);
    npu.collective_ids.erase(found);
  }
}

void GraphCollectives::report(const pdes::Context& context, const GraphNpu& npu,
                              const ActiveCollective& active, const OpenPhase& open) const {
  if (setup_.observer == nullptr) {
    return;
  }
  const auto number = static_cast<std::uint16_t>(open.phase);
  const collective::Phase& phase = active.plan->phase(open.chunk, number);
  CollectivePhaseRecord record;
  record.tile = context.self();
  record.name = npu.tasks[active.place].name;
  record.kind = phase.kind;
  if (active.plan->is_box()) {
    record.dimension = static_cast<std::uint8_t>(phase.dimension);
  }
  record.chunk = open.chunk;
  record.bytes = active.plan->phase_bytes(npu.number, open.chunk, number);
  record.start = open.begin;
  record.end = context.now();
  setup_.observer->on_collective_phase(record);
}

}  // namespace tessera::executor
