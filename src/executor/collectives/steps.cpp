#include "collectives/steps.hpp"

#include <algorithm>
#include <new>
#include <type_traits>
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
    static_assert(std::is_trivially_destructible_v<collective::Step>);
    // Made where it is kept: a copy would read words whose parts have just been written.
    new (&looked_.step) collective::Step(plan_.step(instruction.group, instruction.collective,
                                                    looked_.self, Bytes(instruction.bytes), step));
  }
  return looked_.step;
}

// Of the collective that was looked up last.
EntityId CollectiveSteps::member(const TileCollective& of, collective::Member number) const {
  return plan_.placement.tile(
      plan_.role_beside(of.instruction.group, looked_.self, number, of.tile.role));
}

std::uint32_t CollectiveSteps::steps_of(const Instruction& instruction) {
  std::uint32_t& steps = groups_[static_cast<std::size_t>(instruction.group)]
                             .steps[static_cast<std::size_t>(instruction.collective)];
  if (steps == unknown) {
    steps = plan_.steps_of_channel(instruction.group, instruction.collective);
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

// One tile's collective in the present event, channel by channel.
class CollectiveSteps::Host {
 public:
  Host(CollectiveSteps& steps, pdes::Context& context, const TileCollective& of)
      : all_(steps),
        context_(context),
        of_(of),
        steps_(steps.steps_of(of.instruction)),
        channels_(steps.channels_of(of.instruction)),
        passes_on_(steps.passes_on(of.instruction)) {}

  void begin() {
    for (channel_ = 0; channel_ < channels_; ++channel_) {
      collective::Lane lane;
      lane.begin_next(*this);
    }
  }
  // Whether all channels are over. Whoever was awaited last is awaited again.
  bool go_on() {
    awaited_ = std::exchange(of_.transfer.awaited, EntityId::none());
    bool over = true;
    for (channel_ = 0; channel_ < channels_; ++channel_) {
      collective::Lane lane = known();
      lane.go_on(*this);
      keep(lane);
      over = over && lane.over == steps_;
    }
    return over;
  }
  void arrived(std::uint32_t channel, const InboxPool::Message& message) {
    channel_ = channel;
    message_ = message;
    collective::Lane lane = known();
    lane.arrived(lane.over, *this);
    lane.begin_next(*this);
    keep(lane);
  }

  // As collective::Lane asks.
  std::uint32_t steps() const { return steps_; }
  bool passes_on() const { return passes_on_; }
  const collective::Step& step(std::uint32_t number) { return all_.step_of(of_, place(number)); }
  void send(const collective::Step& step) {
    all_.messages_.send(context_, all_.member(of_, step.send_to), step.send_bytes,
                        tag(step.send_step),
                        of_.background || all_.messages_.are_watched(of_.tile, of_.instruction),
                        network::connection_flag);
  }
  bool take_early(std::uint32_t number) {
    if (!passes_on_ || !awaited_.valid()) {
      awaited_ = all_.member(of_, step(number).receive_from);
    }
    if (of_.tile.inbox != InboxPool::empty) {
      if (const auto early = all_.inboxes_.take(of_.tile.inbox, awaited_, tag(number))) {
        message_ = *early;
        return true;
      }
    }
    of_.transfer.awaited = awaited_;
    return false;
  }
  bool received(std::uint32_t number, const collective::Step& step) {
    passed_on(number, step.receive_bytes);
    return true;
  }
  void passed_on(std::uint32_t /*number*/, Bytes bytes) {
    all_.messages_.report(context_, of_.instruction.traffic, bytes, message_);
  }

 private:
  collective::Lane known() {
    return collective::Lane::in_step(all_.step_in(of_.transfer, channel_), steps_);
  }
  void keep(const collective::Lane& lane) { all_.step_in(of_.transfer, channel_) = lane.over; }
  std::uint32_t place(std::uint32_t number) const { return number * channels_ + channel_; }
  std::uint16_t tag(std::uint32_t number) const {
    return tag_of(of_.instruction.traffic, of_.background, place(number));
  }

  CollectiveSteps& all_;
  pdes::Context& context_;
  const TileCollective& of_;
  std::uint32_t steps_;
  std::uint32_t channels_;
  bool passes_on_;
  std::uint32_t channel_ = 0;
  EntityId awaited_;
  InboxPool::Message message_;  // that is being taken
};

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
  Host(*this, context, of).begin();
}

bool CollectiveSteps::run(pdes::Context& context, const TileCollective& of) {
  return Host(*this, context, of).go_on();
}

bool CollectiveSteps::take(pdes::Context& context, const TileCollective& of,
                           const InboxPool::Message& message) {
  for (std::uint32_t channel = 0; channel < channels_of(of.instruction); ++channel) {
    if (is_awaited(of, channel, message)) {
      Host(*this, context, of).arrived(channel, message);
      return true;
    }
  }
  return false;
}

bool CollectiveSteps::is_awaited(const TileCollective& of, std::uint32_t channel,
                                 const InboxPool::Message& message) {
  const std::uint32_t at = place_in(of, channel);
  if (step_in(of.transfer, channel) == steps_of(of.instruction) ||
      message.tag != tag_of(of.instruction.traffic, of.background, at)) {
    return false;
  }
  if (passes_on(of.instruction)) {
    return of.transfer.awaited == message.source;
  }
  const collective::Step& step = step_of(of, at);
  return step.receive_from != collective::nobody && member(of, step.receive_from) == message.source;
}

}  // namespace tessera::executor
