#include "serving/whole_steps.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <utility>

#include "serving/messages.hpp"
#include "tessera/collective/algorithm.hpp"
#include "tessera/core/error.hpp"

namespace tessera::executor {

using serving::StepSizes;
using serving::WalkPart;

void SpentTime::save(pdes::StateWriter& writer) const {
  writer.put_all(end);
  writer.put_all(busy);
  writer.put_all(exchanging);
  writer.put(is_told);
  if (has_stages) {
    writer.put_all(ports);
  }
}

void SpentTime::restore(pdes::StateReader& reader) {
  end = reader.get_all<SimTime>();
  busy = reader.get_all<SimTime>();
  exchanging = reader.get_all<SimTime>();
  is_told = reader.get<bool>();
  if (has_stages) {
    ports = reader.get_all<BusyPort>();
  }
}

void SpentTime::add(const WholeStep& step, SimTime told) {
  for (std::size_t unit = 0; unit < end.size(); ++unit) {
    end[unit] = told + step.end[unit];
    busy[unit] += step.busy[unit];
    exchanging[unit] += step.exchanging[unit];
  }
  ports.clear();
  for (const BusyPort& port : step.ports) {
    ports.push_back({port.node, port.port, told + port.until});
  }
}

WholeSteps::WholeSteps(const ServingSetup& setup)
    : setup_(setup), times_(setup), exchanges_(setup_) {
  for (std::uint32_t tenant = 0; tenant < setup_.work.tenants.size(); ++tenant) {
    alike_.push_back(are_alike(tenant) ? 1 : 0);
    sharers_.push_back(sharers_of(tenant));
  }
}

EntityId WholeSteps::node_of(std::uint32_t tenant, std::uint32_t unit) const {
  return setup_.work.npus[setup_.work.tenants[tenant].npus[unit]].front();
}

// Of one type, and as fast as each other.
bool WholeSteps::are_alike(std::uint32_t tenant) const {
  constexpr SimTime some = SimTime::from_ps(1'000'000'007);
  const machine::Machine& machine = setup_.machine;
  const EntityId first = node_of(tenant, 0);
  for (std::uint32_t unit = 1; unit < setup_.work.tenants[tenant].npus.size(); ++unit) {
    const EntityId node = node_of(tenant, unit);
    const bool same_type =
        machine.types.empty() || machine.type_of[node.value()] == machine.type_of[first.value()];
    if (!same_type || machine.time_at(node, some) != machine.time_at(first, some)) {
      return false;
    }
  }
  return !setup_.work.tenants[tenant].streams() || stream_alike(tenant);
}

// From channels of one kind at their nodes, for as many each.
bool WholeSteps::stream_alike(std::uint32_t tenant) const {
  const machine::Machine& machine = setup_.machine;
  const auto channel_of = [&](std::uint32_t unit) -> machine::MemoryChannel {
    return machine.channels[machine.channel_of[node_of(tenant, unit).value()]];
  };
  const machine::MemoryChannel first = channel_of(0);
  for (std::uint32_t unit = 0; unit < setup_.work.tenants[tenant].npus.size(); ++unit) {
    const machine::MemoryChannel channel = channel_of(unit);
    if (channel.node != node_of(tenant, unit) || channel.bandwidth != first.bandwidth ||
        channel.latency != first.latency) {
      return false;
    }
  }
  return true;
}

std::vector<std::uint64_t> WholeSteps::sharers_of(std::uint32_t tenant) const {
  const ServiceSettings& served = setup_.work.tenants[tenant];
  const std::size_t units = stage_of(tenant, 0).units;
  std::vector<std::uint32_t> channels;
  std::map<std::pair<std::size_t, std::uint32_t>, std::uint64_t> at;  // stage and channel
  for (std::uint32_t unit = 0; served.streams() && unit < served.npus.size(); ++unit) {
    channels.push_back(setup_.machine.channel_of[node_of(tenant, unit).value()]);
    ++at[{unit / units, channels.back()}];
  }
  std::vector<std::uint64_t> sharers;
  for (std::size_t unit = 0; unit < channels.size(); ++unit) {
    sharers.push_back(setup_.shares_channels ? at.at({unit / units, channels[unit]}) : 1);
  }
  return sharers;
}

SimTime WholeSteps::access_time(std::uint32_t tenant, std::uint32_t unit,
                                const OperatorTime& known) {
  if (known.read == Bytes() && known.written == Bytes()) {
    return SimTime::zero();
  }
  if (accesses_.size() >= most_kept) {
    accesses_.clear();
  }
  const EntityId node = node_of(tenant, unit);
  const auto [found, is_new] =
      accesses_.try_emplace({node, known.read.count(), known.written.count()});
  if (is_new) {
    IdlePorts ports(setup_);
    found->second =
        setup_.idle_access({node, known.read, known.written, sharers_[tenant][unit]},
                           [&ports](EntityId from, EntityId to, Bytes bytes, SimTime now) {
                             return ports.send(from, to, bytes, now);
                           });
  }
  return found->second;
}

WholeSteps::Repeated WholeSteps::operator_of(const ServiceSettings& served,
                                             std::uint32_t op) const {
  // Nothing is zero.
  const StepSizes all{3, 2, 1, 5, 1, 7, 11, 1, 6, 1, 6, 1, 2, 3, {4, 6, 10, 5, 1, 5}, 1, 4, 8};
  StepSizes needed = served.model->on_tiles()->needed(op, all);
  Repeated made{op, 1, true, false};
  needed.tokens = 0;
  made.of_tokens = needed == StepSizes{};
  needed.emitting = 0;
  made.of_keys = needed != StepSizes{};
  return made;
}

void WholeSteps::add_piece(const ServiceSettings& served, const Piece& piece, Plan& plan) const {
  const auto kind = [&](std::uint32_t op) { return served.model->kind_of(op); };
  const auto is_same = [&](const Piece& other) {
    return other.exchanges == piece.exchanges && kind(other.exchange) == kind(piece.exchange) &&
           std::equal(other.operators.begin(), other.operators.end(), piece.operators.begin(),
                      piece.operators.end(), [&](const Repeated& a, const Repeated& b) {
                        return kind(a.op) == kind(b.op) && a.times == b.times;
                      });
  };
  const auto known = std::find_if(plan.pieces.begin(), plan.pieces.end(), is_same);
  plan.order.push_back(static_cast<std::uint32_t>(known - plan.pieces.begin()));
  if (known == plan.pieces.end()) {
    plan.pieces.push_back(piece);
  }
  for (const Repeated& one : piece.operators) {
    if (one.of_tokens) {
      continue;
    }
    const auto found =
        std::find_if(plan.beyond_tokens.begin(), plan.beyond_tokens.end(),
                     [&](const Repeated& other) { return kind(other.op) == kind(one.op); });
    if (found == plan.beyond_tokens.end()) {
      plan.beyond_tokens.push_back(one);
    } else {
      found->times += one.times;
    }
  }
}

WholeSteps::Stage WholeSteps::stage_of(std::uint32_t tenant, std::uint32_t number) const {
  const ServiceSettings& served = setup_.work.tenants[tenant];
  const auto units = static_cast<std::uint32_t>(served.npus.size()) / served.model->stages();
  return {tenant, number, number * units, units};
}

const WholeSteps::Plan& WholeSteps::plan_of(const Stage& stage, const StepSizes& sizes) {
  const auto [found, is_new] =
      plans_.try_emplace({stage.tenant, stage.number, sizes.emitting > 0, sizes.adapters > 0});
  Plan& plan = found->second;
  if (!is_new) {
    return plan;
  }
  const ServiceSettings& served = setup_.work.tenants[stage.tenant];
  Piece piece;
  for (const WalkPart& part : served.model->on_tiles()->walk(stage.first, sizes)) {
    ensure(!plan.hands_on, "a stage hands on at last");
    switch (part.kind) {
      case WalkPart::Kind::await:
        break;
      case WalkPart::Kind::hand_on:
        plan.hands_on = part.op;
        break;
      case WalkPart::Kind::collective:
        piece.exchanges = true;
        piece.exchange = part.op;
        add_piece(served, piece, plan);
        piece = {};
        break;
      case WalkPart::Kind::operation:
        add_operator(served, part.op, piece);
        break;
    }
  }
  add_piece(served, piece, plan);
  return plan;
}

void WholeSteps::add_operator(const ServiceSettings& served, std::uint32_t op, Piece& piece) const {
  const std::uint32_t kind = served.model->kind_of(op);
  const auto known =
      std::find_if(piece.operators.begin(), piece.operators.end(),
                   [&](const Repeated& one) { return served.model->kind_of(one.op) == kind; });
  if (known == piece.operators.end()) {
    piece.operators.push_back(operator_of(served, op));
  } else {
    ++known->times;
  }
}

WholeSteps::Done WholeSteps::work_of(std::uint32_t tenant, std::uint32_t unit,
                                     const std::vector<Repeated>& operators, const StepSizes& sizes,
                                     bool all) {
  const EntityId node = node_of(tenant, unit);
  const machine::Machine& machine = setup_.machine;
  Done sum;
  for (const Repeated& one : operators) {
    if (!all && !one.of_tokens) {
      continue;
    }
    const OperatorTime& known = one.of_keys ? times_.of_step(tenant, one.op, sizes, node)
                                            : times_.of(tenant, one.op, sizes, node);
    sum.time +=
        std::max(machine.time_at(node, known.time), access_time(tenant, unit, known)) * one.times;
    const Bytes moved = known.operands + known.read + known.written;
    sum.operands += Wide{moved.count()} * static_cast<std::uint64_t>(one.times);
  }
  return sum;
}

// By as many messages a unit as a walk is told by, unit after unit.
void WholeSteps::be_told(std::uint32_t tenant, IdlePorts& ports, WholeStep& step) const {
  const ServingWork& work = setup_.work;
  const ServiceSettings& served = work.tenants[tenant];
  const std::size_t messages =
      2 + serving_size_kinds.size() +
      static_cast<std::size_t>(std::popcount(served.model->on_tiles()->more_words()));
  for (std::uint32_t unit = 0; unit < served.npus.size(); ++unit) {
    SimTime& told = step.end.emplace_back();
    for (std::size_t message = 0; message < messages; ++message) {
      told = ports.send(work.host(), node_of(tenant, unit), work.message, SimTime::zero());
    }
  }
}

void WholeSteps::exchange(std::uint32_t tenant, const serving::Exchange& exchange, IdlePorts& ports,
                          WholeStep& step) {
  const std::uint32_t end = exchange.first + exchange.units;
  const UnitRange units{exchange.first, exchange.units};
  for (std::uint32_t unit = exchange.first; unit < end; ++unit) {
    step.moves = step.moves && !exchanges_.is_busy(tenant, units, unit, ports, step.end[unit]);
  }
  const std::vector<SimTime> before = step.end;
  exchanges_.pass(tenant, exchange, step.end, ports);
  for (std::uint32_t unit = exchange.first; unit < end; ++unit) {
    step.exchanging[unit] += step.end[unit] - before[unit];
  }
}

void WholeSteps::pass(const Stage& stage, const Plan& plan, const StepSizes& sizes, bool all,
                      IdlePorts& ports, WholeStep& step) {
  const ServiceSettings& served = setup_.work.tenants[stage.tenant];
  std::vector<std::vector<Done>> of_pieces;  // [pieces][units]
  for (const Piece& piece : plan.pieces) {
    std::vector<Done>& done = of_pieces.emplace_back();
    for (std::uint32_t unit = 0; unit < stage.units; ++unit) {
      done.push_back(alike_[stage.tenant] != 0 && unit > 0
                         ? done.front()
                         : work_of(stage.tenant, stage.first + unit, piece.operators, sizes, all));
    }
  }
  for (const std::uint32_t number : plan.order) {
    const Piece& piece = plan.pieces[number];
    for (std::uint32_t unit = 0; unit < stage.units; ++unit) {
      step.busy[stage.first + unit] += of_pieces[number][unit].time;
      step.end[stage.first + unit] += of_pieces[number][unit].time;
      step.operands += of_pieces[number][unit].operands;
    }
    if (piece.exchanges) {
      exchange(stage.tenant, served.model->exchange(piece.exchange, sizes.tokens), ports, step);
    }
  }
  const UnitRange units{stage.first, stage.units};
  for (std::uint32_t unit = stage.first; unit < stage.first + stage.units; ++unit) {
    step.moves =
        step.moves && !exchanges_.is_busy(stage.tenant, units, unit, ports, step.end[unit]);
  }
}

WholeStep WholeSteps::add_up(const Stage& stage, const Plan& plan, const StepSizes& sizes,
                             bool all) {
  WholeStep step;
  step.busy.resize(stage.units);
  step.exchanging.resize(stage.units);
  IdlePorts ports(setup_);
  be_told(stage.tenant, ports, step);
  pass(stage, plan, sizes, all, ports, step);
  hand_on(stage, plan, sizes, ports, step);
  return step;
}

WholeStep WholeSteps::of_one_stage(const Stage& stage, const StepSizes& sizes) {
  const Plan& plan = plan_of(stage, sizes);
  if (alike_[stage.tenant] == 0) {
    return add_up(stage, plan, sizes, true);
  }
  if (known_.size() >= most_kept) {
    known_.clear();
  }
  const auto [found, is_new] = known_.try_emplace({stage.tenant, sizes.emitting > 0, sizes.tokens});
  if (is_new) {
    found->second = add_up(stage, plan, sizes, false);
  }
  if (!found->second.moves) {
    return add_up(stage, plan, sizes, true);
  }
  WholeStep step = found->second;
  const Done beyond = work_of(stage.tenant, 0, plan.beyond_tokens, sizes, true);
  step.over += beyond.time;
  step.operands += beyond.operands * step.end.size();
  for (std::size_t unit = 0; unit < step.end.size(); ++unit) {
    step.end[unit] += beyond.time;
    step.busy[unit] += beyond.time;
  }
  return step;
}

// Units that come so much later than the first.
WholeStep WholeSteps::known_of(const Stage& stage, const Plan& plan, const StepSizes& sizes,
                               const std::vector<SimTime>& since) {
  const std::uint32_t end = stage.first + stage.units;
  WholeStep all;
  all.busy.resize(end);
  all.exchanging.resize(end);
  all.end.resize(stage.first);
  all.end.insert(all.end.end(), since.begin(), since.end());
  // Exchanges look at the tenant's units up to theirs alone.
  IdlePorts ports(setup_);
  pass(stage, plan, sizes, false, ports, all);
  for (std::vector<SimTime>* const times : {&all.end, &all.busy, &all.exchanging}) {
    times->erase(times->begin(), times->begin() + stage.first);
  }
  return all;
}

bool WholeSteps::pass_known(const Stage& stage, const Plan& plan, const StepSizes& sizes,
                            const IdlePorts& ports, WholeStep& step) {
  const auto begin = step.end.begin() + stage.first;
  for (std::uint32_t unit = stage.first; unit < stage.first + stage.units; ++unit) {
    if (exchanges_.is_busy(stage.tenant, {stage.first, stage.units}, unit, ports, step.end[unit])) {
      return false;
    }
  }
  const SimTime first = *std::min_element(begin, begin + stage.units);
  std::vector<SimTime> since;
  std::transform(begin, begin + stage.units, std::back_inserter(since),
                 [first](SimTime time) { return time - first; });
  if (known_stages_.size() >= most_kept) {
    known_stages_.clear();
  }
  const auto [found, is_new] = known_stages_.try_emplace(
      {stage.tenant, stage.number, sizes.emitting > 0, sizes.tokens, since});
  if (is_new) {
    found->second = known_of(stage, plan, sizes, since);
  }
  const WholeStep& known = found->second;
  if (!known.moves) {
    return false;
  }
  const Done beyond = work_of(stage.tenant, stage.first, plan.beyond_tokens, sizes, true);
  for (std::uint32_t unit = 0; unit < stage.units; ++unit) {
    begin[unit] = first + known.end[unit] + beyond.time;
    step.busy[stage.first + unit] += known.busy[unit] + beyond.time;
    step.exchanging[stage.first + unit] += known.exchanging[unit];
  }
  step.operands += known.operands + beyond.operands * stage.units;
  return true;
}

// To the next stage, and tells the host.
void WholeSteps::hand_on(const Stage& stage, const Plan& plan, const StepSizes& sizes,
                         IdlePorts& ports, WholeStep& step) const {
  const ServingWork& work = setup_.work;
  std::vector<std::pair<SimTime, EntityId>> words;  // when they would be at the host
  for (std::uint32_t unit = stage.first; unit < stage.first + stage.units; ++unit) {
    const EntityId node = node_of(stage.tenant, unit);
    if (plan.hands_on) {
      const Bytes all =
          work.tenants[stage.tenant].model->exchange(*plan.hands_on, sizes.tokens).bytes;
      const Bytes bytes = std::max(collective::chunk_bytes(all, work.cores(), 0), Bytes(1));
      const EntityId to = node_of(stage.tenant, unit + stage.units);
      SimTime& next = step.end[unit + stage.units];
      next = std::max(next,
                      ports.receive(node, to, bytes, ports.send(node, to, bytes, step.end[unit])));
    }
    words.emplace_back(ports.send(node, work.host(), work.message, step.end[unit]), node);
  }
  std::ranges::stable_sort(words, {}, &std::pair<SimTime, EntityId>::first);
  IdlePorts at_host(setup_);  // apart from what comes in there as to a unit, at other times
  for (const auto& [time, node] : words) {
    step.over = std::max(step.over, at_host.receive(node, work.host(), work.message, time));
  }
}

WholeStep WholeSteps::of_stages(std::uint32_t tenant, const StepSizes& sizes, SimTime now,
                                const SpentTime& spent) {
  const ServiceSettings& served = setup_.work.tenants[tenant];
  WholeStep step;
  step.busy.resize(served.npus.size());
  step.exchanging.resize(served.npus.size());
  // What the host's tile sends at the same time for its own part is not held back by this.
  std::vector<SimTime>& told = told_[tenant];
  if (told.empty()) {
    IdlePorts telling(setup_);
    be_told(tenant, telling, step);
    told = step.end;
  }
  step.end = told;
  IdlePorts ports(setup_);
  for (const BusyPort& port : spent.ports) {
    ports.set({port.node, port.port, port.until - now});
  }
  for (std::uint32_t number = 0; number < served.model->stages(); ++number) {
    const Stage stage = stage_of(tenant, number);
    for (std::uint32_t unit = stage.first; unit < stage.first + stage.units; ++unit) {
      step.end[unit] = std::max(step.end[unit], spent.end[unit] - now);
    }
    const Plan& plan = plan_of(stage, sizes);
    if (alike_[tenant] == 0 || !pass_known(stage, plan, sizes, ports, step)) {
      pass(stage, plan, sizes, true, ports, step);
    }
    hand_on(stage, plan, sizes, ports, step);
  }
  for (std::uint32_t unit = 0; unit < served.npus.size(); ++unit) {
    ports.visit_busy(node_of(tenant, unit), SimTime::zero(),
                     [&step](const BusyPort& busy) { step.ports.push_back(busy); });
  }
  return step;
}

WholeStep WholeSteps::of(std::uint32_t tenant, const StepSizes& sizes, SimTime now,
                         const SpentTime& spent) {
  return spent.has_stages ? of_stages(tenant, sizes, now, spent)
                          : of_one_stage(stage_of(tenant, 0), sizes);
}

std::size_t WholeSteps::resident_bytes() const {
  std::size_t bytes = times_.resident_bytes() + exchanges_.resident_bytes() +
                      accesses_.size() * (sizeof(decltype(accesses_)::value_type) + 48);
  for (const auto& [tenant, told] : told_) {
    bytes += sizeof(tenant) + told.capacity() * sizeof(SimTime) + 64;
  }
  for (const auto& [key, step] : known_) {
    bytes += sizeof(key) + sizeof(step) + 3 * step.end.size() * sizeof(SimTime) + 64;
  }
  for (const auto& [key, step] : known_stages_) {
    bytes += sizeof(key) + sizeof(step) + 4 * step.end.size() * sizeof(SimTime) + 64;
  }
  return bytes;
}

}  // namespace tessera::executor
