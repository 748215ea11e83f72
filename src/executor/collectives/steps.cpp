#include "collectives/steps.hpp"

#include <algorithm>
#include <utility>

namespace tessera::executor {

using plan::Instruction;

CollectiveSteps::CollectiveSteps(const plan::Plan& plan, InboxPool& inboxes, TileMessages& messages)
    : plan_(plan), inboxes_(inboxes), messages_(messages) {
  for (const plan::GroupShape& shape : plan.groups) {
    Group& group = groups_.emplace_back(
        Group{Divisor(std::max(shape.stride, 1U)), Divisor(std::max(shape.size, 1U)), {}, {}});
    group.steps.fill(unknown);
    for (std::size_t kind = 0; kind < collective::kinds; ++kind) {
      group.passes_on[kind] =
          shape.is_whole() && plan.algorithm(static_cast<plan::Group>(groups_.size() - 1))
                                  .is_passed_on(static_cast<collective::Kind>(kind));
    }
  }
}

collective::Member CollectiveSteps::member_of(plan::Group group, std::uint32_t role) const {
  if (group == plan::Group::tied) {
    return plan_.member_of(group, role);
  }
  const Group& shape = groups_[static_cast<std::size_t>(group)];
  return shape.size.remainder(shape.stride.quotient(plan_.placement.place_in_stage(role)));
}

const collective::Step& CollectiveSteps::step_of(const TileCollective& of, std::uint32_t step) {
  const Instruction& instruction = of.instruction;
  const bool same = looked_.role == of.tile.role && looked_.instruction == &instruction;
  if (!same || looked_.at != step) {
    if (!same) {
      looked_.role = of.tile.role;
      looked_.instruction = &instruction;
      looked_.self = member_of(instruction.group, of.tile.role);
    }
    looked_.at = step;
    looked_.step =
        plan_.step(instruction.group, static_cast<collective::Kind>(instruction.collective),
                   looked_.self, Bytes(instruction.bytes), step);
  }
  return looked_.step;
}

// Of the collective that was looked up last.
EntityId CollectiveSteps::member(const TileCollective& of, collective::Member number) const {
  return plan_.placement.tile(
      plan_.role_beside(of.instruction.group, looked_.self, number, of.tile.role));
}

std::uint32_t CollectiveSteps::steps_of(const Instruction& instruction) {
  std::uint32_t& steps =
      groups_[static_cast<std::size_t>(instruction.group)].steps[instruction.collective];
  if (steps == unknown) {
    steps = plan_.steps_of_channel(instruction.group,
                                   static_cast<collective::Kind>(instruction.collective));
  }
  return steps;
}

std::uint32_t CollectiveSteps::channels_of(const Instruction& instruction) const {
  return plan_.group(instruction.group).channels;
}

std::uint32_t& CollectiveSteps::step_in(Transfer& transfer, std::uint32_t channel) {
  return channel == 0 ? transfer.step : others_[transfer.others][channel - 1];
}

// The step of a channel, those of all channels counted one by one.
std::uint32_t CollectiveSteps::place_in(const TileCollective& of, std::uint32_t channel) {
  return step_in(of.transfer, channel) * channels_of(of.instruction) + channel;
}

void CollectiveSteps::send(pdes::Context& context, const TileCollective& of, std::uint32_t at) {
  const collective::Step& step = step_of(of, at);
  if (step.send_to != collective::nobody) {
    messages_.send(context, member(of, step.send_to), step.send_bytes,
                   tag_of(of.instruction.traffic, of.background, at),
                   of.background || messages_.are_watched(of.tile, of.instruction),
                   network::connection_flag);
  }
}

void CollectiveSteps::start(pdes::Context& context, const TileCollective& of) {
  const std::uint32_t channels = channels_of(of.instruction);
  of.transfer.step = 0;
  if (channels > 1) {
    if (of.transfer.others == Transfer::no_place) {
      of.transfer.others = static_cast<std::uint32_t>(others_.size());
      others_.emplace_back();
    }
    others_[of.transfer.others].assign(channels - 1, 0);
  }
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    send(context, of, channel);
  }
}

bool CollectiveSteps::run(pdes::Context& context, const TileCollective& of) {
  if (passes_on(of.instruction)) {
    return run_passing_on(context, of);
  }
  of.transfer.awaited = EntityId::none();
  bool over = true;
  for (std::uint32_t channel = 0; channel < channels_of(of.instruction); ++channel) {
    over = run_channel(context, of, channel) && over;
  }
  return over;
}

bool CollectiveSteps::run_channel(pdes::Context& context, const TileCollective& of,
                                  std::uint32_t channel) {
  const Instruction& instruction = of.instruction;
  while (step_in(of.transfer, channel) < steps_of(instruction)) {
    const std::uint32_t at = place_in(of, channel);
    const collective::Step& step = step_of(of, at);
    if (step.receive_from != collective::nobody) {
      const EntityId source = member(of, step.receive_from);
      const auto message =
          inboxes_.take(of.tile.inbox, source, tag_of(instruction.traffic, of.background, at));
      if (!message) {
        of.transfer.awaited = source;
        return false;
      }
      messages_.report(context, instruction.traffic, step.receive_bytes, *message);
    }
    end(context, of, channel);
  }
  return true;
}

// Whoever was awaited last is awaited again.
bool CollectiveSteps::run_passing_on(pdes::Context& context, const TileCollective& of) {
  const std::uint32_t steps = steps_of(of.instruction);
  EntityId source = std::exchange(of.transfer.awaited, EntityId::none());
  while (of.transfer.step < steps) {
    if (!source.valid()) {
      source = member(of, step_of(of, of.transfer.step).receive_from);
    }
    if (of.tile.inbox == InboxPool::empty) {
      of.transfer.awaited = source;
      return false;
    }
    const auto message = inboxes_.take(
        of.tile.inbox, source, tag_of(of.instruction.traffic, of.background, of.transfer.step));
    if (!message) {
      of.transfer.awaited = source;
      return false;
    }
    pass_on(context, of, *message);
  }
  return true;
}

// What has come in is what the next step sends, so that the present one need not be looked up.
void CollectiveSteps::pass_on(pdes::Context& context, const TileCollective& of,
                              const InboxPool::Message& message) {
  const std::uint32_t next = of.transfer.step + 1;
  const bool last = next == steps_of(of.instruction);
  const Bytes bytes =
      last ? step_of(of, of.transfer.step).receive_bytes : step_of(of, next).send_bytes;
  messages_.report(context, of.instruction.traffic, bytes, message);
  of.transfer.step = next;
  if (!last) {
    send(context, of, next);
  }
}

void CollectiveSteps::end(pdes::Context& context, const TileCollective& of, std::uint32_t channel) {
  if (++step_in(of.transfer, channel) < steps_of(of.instruction)) {
    send(context, of, place_in(of, channel));
  }
}

bool CollectiveSteps::take(pdes::Context& context, const TileCollective& of,
                           const InboxPool::Message& message) {
  const Instruction& instruction = of.instruction;
  if (passes_on(instruction)) {
    if (of.transfer.awaited != message.source ||
        message.tag != tag_of(instruction.traffic, of.background, of.transfer.step)) {
      return false;
    }
    pass_on(context, of, message);
    return true;
  }
  for (std::uint32_t channel = 0; channel < channels_of(instruction); ++channel) {
    const std::uint32_t at = place_in(of, channel);
    if (step_in(of.transfer, channel) == steps_of(instruction) ||
        message.tag != tag_of(instruction.traffic, of.background, at)) {
      continue;
    }
    const collective::Step& step = step_of(of, at);
    if (step.receive_from != collective::nobody &&
        member(of, step.receive_from) == message.source) {
      messages_.report(context, instruction.traffic, step.receive_bytes, message);
      end(context, of, channel);
      return true;
    }
  }
  return false;
}

}  // namespace tessera::executor
