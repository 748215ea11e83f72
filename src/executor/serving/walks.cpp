#include "serving/walks.hpp"

#include <algorithm>

#include "serving/messages.hpp"
#include "serving/sending.hpp"
#include "tessera/compute/messages.hpp"
#include "tessera/core/error.hpp"
#include "tessera/memory/messages.hpp"

namespace tessera::executor {

using serving::OperatorName;
using serving::StepSizes;
using serving::WalkPart;

namespace {

Walking& walking_at(ServingCore& core, std::uint16_t slot) {
  const auto found = std::find_if(core.walks.begin(), core.walks.end(),
                                  [slot](const Walking& one) { return one.slot == slot; });
  ensure(found != core.walks.end(), "a step that goes on at a tile has begun there");
  return *found;
}

std::uint32_t place_of(const std::vector<std::uint32_t>& npus, std::uint32_t npu) {
  return static_cast<std::uint32_t>(std::find(npus.begin(), npus.end(), npu) - npus.begin());
}

}  // namespace

void ServingWalks::be_told(ServingCore& core, const Told& told) const {
  const OperatorName name = OperatorName::from(told.words[0]);
  const WalkOf walk = WalkOf::from(told.words[1]);
  Walking walking;
  walking.slot = told.slot;
  walking.priority = walk.priority;
  walking.tenant = name.tenant;
  walking.unit = place_of(work_.tenants[name.tenant].npus, core.place.npu);
  walking.step = walk.step;
  walking.order = core.walked++;
  walking.turn = walk.turn;
  walking.sizes[0] = name.shape;
  std::copy(told.words.begin() + 2, told.words.end(), walking.sizes.begin() + 1);
  core.walks.push_back(walking);
}

bool ServingWalks::begin(pdes::Context& context, ServingCore& core, Walking& walking) {
  walking.has_begun = true;
  return go_on(context, core, walking.slot);
}

bool ServingWalks::computed(pdes::Context& context, ServingCore& core, std::uint16_t slot) {
  Walking& walking = walking_at(core, slot);
  if (--walking.outstanding > 0) {
    return false;
  }
  core.end(context, setup_, slot);
  if (!core.layers.leaving().empty()) {
    hand_over(context, core, walking);
  }
  end_part(walking);
  return go_on(context, core, slot);
}

// Keys and values of a layer whose last operator that writes some is over.
void ServingWalks::hand_over(pdes::Context& context, const ServingCore& core,
                             const Walking& walking) const {
  const serving::TileModel& model = *work_.tenants[walking.tenant].model->on_tiles();
  const serving::Walk& walk = walk_of(walking);
  if (!model.fills_cache(walk[walking.at].op)) {
    return;
  }
  for (const LayerCarries::Leaving& one : core.layers.leaving()) {
    if (one.step == walking.slot) {
      const Bytes bytes = model.handed_over(walk[walking.at].op, one.tokens);
      const CarryOf carry{model.layers_in(walk), bytes.count(), true, true};
      send_data(context, setup_, work_.npus[one.npu].front(), bytes, serving_carry_kind, one.slot,
                carry.word());
    }
  }
}

bool ServingWalks::exchanged(pdes::Context& context, ServingCore& core, std::uint16_t step,
                             const ExchangeOf& of) {
  if (step == hand_on_tag) {
    core.handed.push_back(of.slot);
    const bool waits = std::any_of(core.walks.begin(), core.walks.end(), [&](const Walking& one) {
      return one.slot == of.slot && one.has_begun &&
             walk_of(one)[one.at].kind == WalkPart::Kind::await;
    });
    return waits && go_on(context, core, of.slot);
  }
  if (!core.exchanges.arrived(context, of, step)) {
    return false;
  }
  core.end(context, setup_, of.slot);
  end_part(walking_at(core, of.slot));
  return go_on(context, core, of.slot);
}

const serving::Walk& ServingWalks::walk_of(const Walking& walking) const {
  const serving::TileModel& model = *work_.tenants[walking.tenant].model->on_tiles();
  return model.walk(walking.unit, StepSizes::from(walking.sizes));
}

SimTime ServingWalks::time_of(const Walking& walking, EntityId node) {
  const std::uint32_t op = walk_of(walking)[walking.at].op;
  const OperatorTime& known = times_.of(walking.tenant, op, StepSizes::from(walking.sizes), node);
  return setup_.machine.time_at(node, known.time);
}

const RestOfWalk& ServingWalks::rest_of(const Walking& walking, EntityId node) {
  const serving::Walk& walk = walk_of(walking);
  const machine::Machine& machine = setup_.machine;
  const bool is_slowed = machine.speeds.contains(node);
  const std::uint32_t kind = is_slowed               ? node.value()
                             : machine.types.empty() ? 0
                                                     : machine.type_of[node.value()];
  if (rests_.size() >= most_rests) {
    rests_.clear();
  }
  const auto [found, is_new] =
      rests_.try_emplace({walking.tenant, &walk, walking.sizes, is_slowed, kind});
  RestOfWalk& rest = found->second;
  if (!is_new) {
    return rest;
  }
  const StepSizes sizes = StepSizes::from(walking.sizes);
  const auto size = walk.size();
  rest.end.resize(size + 1);
  rest.exchange.assign(size + 1, SimTime::never());
  rest.hand_on.assign(size + 1, SimTime::never());
  for (std::size_t at = size; at-- > 0;) {
    const WalkPart& part = walk[at];
    const bool operates = part.kind == WalkPart::Kind::operation;
    const SimTime time =
        operates ? machine.time_at(node, times_.of(walking.tenant, part.op, sizes, node).time)
                 : SimTime::zero();
    const auto later = [time](SimTime behind) {
      return behind.is_never() ? behind : behind + time;
    };
    rest.end[at] = later(rest.end[at + 1]);
    rest.exchange[at] = later(rest.exchange[at + 1]);
    rest.hand_on[at] = later(rest.hand_on[at + 1]);
    if (part.kind == WalkPart::Kind::hand_on) {
      rest.hand_on[at] = SimTime::zero();
    } else if (part.kind == WalkPart::Kind::collective) {
      rest.exchange[at] = SimTime::zero();
    }
  }
  return rest;
}

bool ServingWalks::go_on(pdes::Context& context, ServingCore& core, std::uint16_t slot) {
  Walking& walking = walking_at(core, slot);
  const serving::Walk& walk = walk_of(walking);
  while (walking.at < walk.size()) {
    if (begin_part(context, core, walking, walk[walking.at])) {
      return false;
    }
    end_part(walking);
  }
  core.end_walk(slot);
  return true;
}

void ServingWalks::end_part(Walking& walking) {
  ++walking.at;
  ++done_;
}

bool ServingWalks::begin_part(pdes::Context& context, ServingCore& core, Walking& walking,
                              const WalkPart& part) {
  const std::uint16_t slot = walking.slot;
  const StepSizes sizes = StepSizes::from(walking.sizes);
  const std::uint64_t number = OperatorName{walking.tenant, part.op, sizes.tokens}.code();
  const Begun begun{number, context.now(), walking.step, slot,
                    part.kind == WalkPart::Kind::collective};
  switch (part.kind) {
    case WalkPart::Kind::await: {
      const auto handed = std::find(core.handed.begin(), core.handed.end(), slot);
      if (handed == core.handed.end()) {
        return true;
      }
      core.handed.erase(handed);
      return false;
    }
    case WalkPart::Kind::hand_on:
      core.exchanges.begin(context, core.place, {slot, 0, 0}, number);
      return false;
    case WalkPart::Kind::collective:
      core.begin(context.now(), begun);
      if (core.exchanges.begin(context, core.place, {slot, 0, walking.exchanges++}, number)) {
        core.end(context, setup_, slot);
        return false;
      }
      return true;
    case WalkPart::Kind::operation:
      core.begin(context.now(), begun);
      begin_operator(context, walking, part.op);
      return true;
  }
  throw InternalError("a part of a step of a kind outside its list");
}

void ServingWalks::begin_operator(pdes::Context& context, Walking& walking, std::uint32_t op) {
  const OperatorTime& known =
      times_.of(walking.tenant, op, StepSizes::from(walking.sizes), context.self());
  compute::TimedRequest request;
  request.duration = setup_.machine.time_at(context.self(), known.time);
  request.order = walking.order;
  request.priority = walking.priority;
  request.done = pdes::Port(setup_.slot, serving_computed_kind);
  walking.outstanding = 1;
  compute::run_timed(context, setup_.compute_slot, request, walking.slot);
  operands_ += known.operands.count();
  access(context, walking, known.read, false);
  access(context, walking, known.written, true);
}

void ServingWalks::access(pdes::Context& context, Walking& walking, Bytes bytes, bool write) {
  if (bytes == Bytes()) {
    return;
  }
  ++walking.outstanding;
  (write ? asked_.written : asked_.read) += bytes.count();
  ensure((walking.slot & writes_flag) == 0, "more steps under way than tags tell apart");
  memory::access(context, setup_.memory_slot, bytes, write,
                 pdes::Port(setup_.slot, serving_accessed_kind),
                 static_cast<std::uint16_t>(walking.slot | (write ? writes_flag : 0)));
}

void ServingWalks::save_totals(pdes::StateWriter& writer) const {
  writer.put(done_);
  writer.put(asked_);
  writer.put(operands_);
}

void ServingWalks::add_totals(pdes::StateReader& reader) {
  done_ += reader.get<std::uint64_t>();
  const auto asked = reader.get<AskedOfMemory>();
  asked_.read += asked.read;
  asked_.written += asked.written;
  operands_ += reader.get<Wide>();
}

}  // namespace tessera::executor
