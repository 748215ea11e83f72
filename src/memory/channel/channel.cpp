// The `channel` memory: DRAM channels at nodes of the machine, shared by the tiles around them.
//
// Method (PALM, section IV-C "Detailed DRAM model", equations (4) and (5)): a request crosses the
// network to its channel, waits until the channel has served those that came before, occupies it
// for size / bandwidth, and the data is ready one response latency later. Data crosses the network:
// back to the tile for a read, ahead to the channel for a write, which ends with an
// acknowledgement. Like a link, a channel that serves in order of arrival needs no queue: the time
// at which it is free says it all.
//
// Deviation: PALM moves an access as a whole (access time plus network time). Here it is served in
// bursts, so that the network carries one while the channel serves the next; `burst: 1 TB` gives
// PALM's behaviour.
//
// With `arbitration: fair` bursts that wait go in the order of start-time fair queueing
// (fair_queue.hpp) by the tiles that ask, with `fair-tenants` by their tenants; the burst under way
// is not interrupted.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "channel/channel.hpp"
#include "leaving_replies.hpp"
#include "tessera/core/error.hpp"
#include "tessera/core/wide.hpp"
#include "tessera/machine/arbitration.hpp"
#include "tessera/memory/memory.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/network/messages.hpp"
#include "tessera/pdes/fair_queue.hpp"

namespace tessera::memory {
namespace {

// Port kinds beside access_kind.
constexpr unsigned read_request_kind = 1;  // at the channel; word: bytes wanted
constexpr unsigned write_data_kind = 2;    // at the channel; word: 1 for the last
constexpr unsigned burst_ready_kind = 3;   // at the channel, from itself
constexpr unsigned burst_reply_kind = 4;   // at the tile; word: 1 for the last
constexpr unsigned free_kind = 5;          // at the channel, from itself: a burst has been served

struct Burst {
  EntityId requester;
  std::uint32_t last = 0;
  std::uint64_t bytes = 0;
  std::uint64_t write = 0;
};

// A burst that waits for its channel.
struct WaitingBurst {
  Burst burst;
  std::uint16_t tag = 0;
  SimTime since;
};

// Of a channel that is shared evenly.
struct Sharing {
  pdes::FairQueue<WaitingBurst> queue;
  bool is_serving = false;
};

// An access that a tile waits for.
struct Outstanding {
  std::uint16_t tag = 0;
  pdes::Port done;
  std::uint32_t next = none;
  static constexpr std::uint32_t none = 0xFFFFFFFFU;
};

class ChannelMemory final : public Memory {
 public:
  ChannelMemory(const MemorySetup& setup, const ChannelParameters& parameters)
      : machine_(setup.machine),
        parameters_(parameters),
        slot_(setup.slot),
        network_slot_(setup.network_slot),
        last_of_(setup.members.size(), Outstanding::none),
        channel_at_(machine_.topology->nodes(), Outstanding::none) {
    for (std::uint32_t channel = 0; channel < machine_.channels.size(); ++channel) {
      channel_at_[machine_.channels[channel].node.value()] = channel;
    }
    for (std::uint32_t index = 0; index < setup.members.size(); ++index) {
      const std::uint32_t channel = channel_at_[setup.members[index].value()];
      if (channel != Outstanding::none) {
        local_channels_.push_back(channel);
        channels_by_index_.push_back({index, channel});
      }
    }
    std::sort(local_channels_.begin(), local_channels_.end());
    states_.resize(machine_.channels.size());
    bins_.resize(machine_.channels.size());
    if (parameters_.is_fair()) {
      sharing_.resize(machine_.channels.size());
      sharers_.emplace(parameters_.arbitration, *machine_.topology, setup.tenants);
    }
    if (setup.regions != nullptr) {
      replies_.emplace(setup);
    }
  }

  const char* name() const override { return "memory channel"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    if (!replies_) {
      return std::nullopt;
    }
    return replies_->outlook(rank, moment.next, [this](EntityId node) {
      return states_[channel_at_[node.value()]].free_at;
    });
  }
  void expect(const network::Progress& message) override {
    if (replies_ && is_answered(message.deliver.kind(), message.word)) {
      replies_->expect(message.target, message.source, message.earliest);
    }
  }
  void take_in(pdes::Event& event) override {
    if (!replies_) {
      return;
    }
    const EntityId here(event.target);
    if (event.port.kind() == burst_ready_kind) {
      replies_->answer_at(event.time, here, event.as<Burst>().requester);
    } else if (event.port.kind() == read_request_kind || event.port.kind() == write_data_kind) {
      const auto arrival = event.as<network::Arrival>();
      if (is_answered(event.port.kind(), arrival.word)) {
        replies_->expect(here, arrival.source, event.time);
      }
    } else if (event.port.kind() == burst_reply_kind && reply_sink_) {
      reply_sink_(here, event.tag, event.time);
    }
  }
  void report_replies(ReplySink incoming, ReplySink booked) override {
    reply_sink_ = std::move(incoming);
    booked_sink_ = std::move(booked);
  }

  void handle(pdes::Context& context, const pdes::Event& event) override {
    switch (event.port.kind()) {
      case access_kind:
        begin(context, event);
        break;
      case read_request_kind: {
        const auto arrival = event.as<network::Arrival>();
        note_request(context.self(), arrival.source);
        serve_read(context, arrival.source, arrival.word, event.tag);
        break;
      }
      case write_data_kind: {
        const auto arrival = event.as<network::Arrival>();
        if (is_answered(write_data_kind, arrival.word)) {
          note_request(context.self(), arrival.source);
        }
        serve(context,
              {arrival.source, static_cast<std::uint32_t>(arrival.word & 1), arrival.word / 2, 1},
              event.tag);
        break;
      }
      case free_kind:
        serve_next(context, channel_at_[context.self().value()]);
        break;
      case burst_ready_kind:
        reply(context, event.as<Burst>(), event.tag);
        break;
      default:
        take_reply(context, event);
        break;
    }
  }

  void pass_boundary(SimTime boundary) override {
    if (!bin_sink_) {
      return;
    }
    for (const std::uint32_t channel : local_channels_) {
      ChannelBin& bin = bins_[channel];
      const ChannelBin now = done_by(boundary, states_[channel], bin);
      if (now.busy_ps != bin.busy_ps || now.read != bin.read || now.written != bin.written) {
        bin_sink_({channel, machine_.channels[channel].node, bin_begin_, boundary,
                   Bytes(now.read - bin.read), Bytes(now.written - bin.written),
                   SimTime::from_ps(now.busy_ps - bin.busy_ps),
                   SimTime::from_ps(bin.longest_wait_ps)});
      }
      bin = now;
    }
    bin_begin_ = boundary;
  }

  void visit_channels(SimTime end, const ChannelUseSink& sink) const override {
    for (const std::uint32_t channel : local_channels_) {
      const ChannelState& state = states_[channel];
      if (state.busy_ps > 0) {
        const ChannelBin done = done_by(end, state, {});
        sink({channel, machine_.channels[channel].node, SimTime::zero(), end, Bytes(done.read),
              Bytes(done.written), SimTime::from_ps(done.busy_ps),
              SimTime::from_ps(state.longest_wait_ps)});
      }
    }
  }

  void report_bins(ChannelUseSink sink) override { bin_sink_ = std::move(sink); }

  // The accesses a tile waits for; and its channel, if there is one.
  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    std::uint32_t waiting = 0;
    for_each_outstanding(index, [&](const Outstanding&) { ++waiting; });
    writer.put(waiting);
    for_each_outstanding(index, [&](const Outstanding& access) {
      writer.put(access.tag);
      writer.put(access.done);
    });
    const std::uint32_t channel = channel_of_index(index);
    if (channel == Outstanding::none) {
      return;
    }
    const ChannelState& state = states_[channel];
    const ChannelBin& bin = bins_[channel];
    writer.put(state);
    writer.put(bin);
    writer.put(bin_begin_);
    if (parameters_.is_fair()) {
      sharing_[channel].queue.save(writer);
      writer.put(sharing_[channel].is_serving);
    }
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    std::vector<Outstanding> accesses(reader.get<std::uint32_t>());
    for (Outstanding& access : accesses) {
      access.tag = reader.get<std::uint16_t>();
      access.done = reader.get<pdes::Port>();
    }
    for (const Outstanding& access : accesses) {
      remember(index, access.tag, access.done);
    }
    const std::uint32_t channel = channel_of_index(index);
    if (channel == Outstanding::none) {
      return;
    }
    states_[channel] = reader.get<ChannelState>();
    bins_[channel] = reader.get<ChannelBin>();
    bin_begin_ = reader.get<SimTime>();
    if (parameters_.is_fair()) {
      sharing_[channel].queue.restore(reader);
      sharing_[channel].is_serving = reader.get<bool>();
    }
  }

  std::size_t resident_bytes() const override {
    std::size_t waiting =
        sharing_.capacity() * sizeof(Sharing) + (sharers_ ? sharers_->resident_bytes() : 0);
    for (const Sharing& sharing : sharing_) {
      waiting += sharing.queue.resident_bytes();
    }
    return waiting + (last_of_.capacity() + channel_at_.capacity()) * sizeof(std::uint32_t) +
           states_.capacity() * sizeof(ChannelState) + bins_.capacity() * sizeof(ChannelBin) +
           pool_.capacity() * sizeof(Outstanding) +
           channels_by_index_.capacity() * sizeof(LocalChannel);
  }

 private:
  struct LocalChannel {
    std::uint32_t index;  // of its node in this rank's arrays
    std::uint32_t channel;
  };

  // Whether a message with this word is, alone or by the last of several: of data to write the
  // last.
  static bool is_answered(unsigned kind, std::uint64_t word) {
    return kind == read_request_kind || (kind == write_data_kind && (word & 1) != 0);
  }

  // The channel at an entity of this rank, or none.
  std::uint32_t channel_of_index(std::uint32_t index) const {
    const auto found = std::lower_bound(
        channels_by_index_.begin(), channels_by_index_.end(), index,
        [](const LocalChannel& a, std::uint32_t wanted) { return a.index < wanted; });
    const bool there = found != channels_by_index_.end() && found->index == index;
    return there ? found->channel : Outstanding::none;
  }

  template <class Visit>
  void for_each_outstanding(std::uint32_t index, Visit visit) const {
    const std::uint32_t last = last_of_[index];
    if (last == Outstanding::none) {
      return;
    }
    std::uint32_t place = last;
    do {
      place = pool_[place].next;
      visit(pool_[place]);
    } while (place != last);
  }

  // At the tile: sends the request, or the data to write burst by burst.
  void begin(pdes::Context& context, const pdes::Event& event) {
    const auto request = event.as<AccessRequest>();
    remember(context.index(), event.tag, request.done);
    const EntityId node = machine_.channels[machine_.channel_of[context.self().value()]].node;
    if (replies_ && !replies_->leaves(context.self(), node)) {
      replies_->expect(node, context.self());
    }
    if (!request.write) {
      network::send(context, network_slot_, node, parameters_.request,
                    pdes::Port(slot_, read_request_kind), event.tag, request.bytes);
      return;
    }
    const std::uint64_t count = parameters_.bursts_of(request.bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t bytes = ChannelParameters::burst_bytes(request.bytes, count, i);
      network::send(context, network_slot_, node, Bytes(bytes), pdes::Port(slot_, write_data_kind),
                    event.tag, bytes * 2 + (i + 1 == count ? 1 : 0));
    }
  }

  void note_request(EntityId channel, EntityId requester) {
    if (replies_) {
      replies_->take(channel, requester);
    }
  }

  void serve_read(pdes::Context& context, EntityId requester, std::uint64_t bytes,
                  std::uint16_t tag) {
    const std::uint64_t count = parameters_.bursts_of(bytes);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t part = ChannelParameters::burst_bytes(bytes, count, i);
      serve(context, {requester, i + 1 == count ? 1U : 0U, part, 0}, tag);
    }
  }

  // At the channel: books a burst after those that came before it.
  void serve(pdes::Context& context, const Burst& burst, std::uint16_t tag) {
    const std::uint32_t channel = channel_at_[context.self().value()];
    if (parameters_.is_fair()) {
      Sharing& sharing = sharing_[channel];
      sharing.queue.add(sharers_->of(burst.requester), burst.bytes, {burst, tag, context.now()});
      if (!sharing.is_serving) {
        serve_next(context, channel);
      }
      return;
    }
    const machine::MemoryChannel& spec = machine_.channels[channel];
    ChannelState& state = states_[channel];
    const SimTime start = std::max(context.now(), state.free_at);
    const SimTime service = serialization_time(Bytes(burst.bytes), spec.bandwidth);
    book(channel, burst, start, start - context.now(), service);
    if (burst.write == 0 || burst.last != 0) {
      if (replies_) {
        replies_->reached(context.now());
        replies_->answer_at(state.free_at + spec.latency, context.self(), burst.requester);
      }
      if (burst.last != 0 && booked_sink_) {
        booked_sink_(burst.requester, tag, state.free_at + spec.latency);
      }
      context.send_self(state.free_at + spec.latency - context.now(),
                        pdes::Port(slot_, burst_ready_kind), burst, tag);
    }
  }

  // At the channel, which is free: the burst whose turn it is.
  void serve_next(pdes::Context& context, std::uint32_t channel) {
    Sharing& sharing = sharing_[channel];
    const std::optional<WaitingBurst> next = sharing.queue.next();
    sharing.is_serving = next.has_value();
    if (!next) {
      return;
    }
    const Burst& burst = next->burst;
    const machine::MemoryChannel& spec = machine_.channels[channel];
    const SimTime service = serialization_time(Bytes(burst.bytes), spec.bandwidth);
    book(channel, burst, context.now(), context.now() - next->since, service);
    context.send_self(service, pdes::Port(slot_, free_kind), std::uint32_t{0});
    if (burst.write == 0 || burst.last != 0) {
      context.send_self(service + spec.latency, pdes::Port(slot_, burst_ready_kind), burst,
                        next->tag);
    }
  }

  void book(std::uint32_t channel, const Burst& burst, SimTime start, SimTime wait,
            SimTime service) {
    ChannelState& state = states_[channel];
    state.longest_wait_ps = std::max(state.longest_wait_ps, wait.ps());
    bins_[channel].longest_wait_ps = std::max(bins_[channel].longest_wait_ps, wait.ps());
    state.free_at = start + service;
    state.busy_ps += service.ps();
    (burst.write != 0 ? state.written : state.read) += burst.bytes;
  }

  void reply(pdes::Context& context, const Burst& burst, std::uint16_t tag) const {
    const Bytes size = burst.write != 0 ? parameters_.request : Bytes(burst.bytes);
    network::send(context, network_slot_, burst.requester, size,
                  pdes::Port(slot_, burst_reply_kind), tag, burst.last, network::answer_flag);
  }

  // At the tile: the last part of the data, or the acknowledgement, ends the access.
  void take_reply(pdes::Context& context, const pdes::Event& event) {
    if (event.as<network::Arrival>().word != 0) {
      context.send_self(SimTime::zero(), forget(context.index(), event.tag), std::uint32_t{0},
                        event.tag);
    }
  }

  // Replies come roughly in the order of their accesses, which a tile's list is in.
  void remember(std::uint32_t index, std::uint16_t tag, pdes::Port done) {
    std::uint32_t place = free_;
    if (place == Outstanding::none) {
      place = static_cast<std::uint32_t>(pool_.size());
      pool_.emplace_back();
    } else {
      free_ = pool_[place].next;
    }
    std::uint32_t& last = last_of_[index];
    pool_[place] = {tag, done, last == Outstanding::none ? place : pool_[last].next};
    if (last != Outstanding::none) {
      pool_[last].next = place;
    }
    last = place;
  }

  pdes::Port forget(std::uint32_t index, std::uint16_t tag) {
    std::uint32_t& last = last_of_[index];
    ensure(last != Outstanding::none, "a memory reply that nobody waits for");
    std::uint32_t before = last;
    while (pool_[pool_[before].next].tag != tag) {
      before = pool_[before].next;
      ensure(before != last, "a memory reply that nobody waits for");
    }
    const std::uint32_t place = pool_[before].next;
    pool_[before].next = pool_[place].next;
    if (place == last) {
      last = before == place ? Outstanding::none : before;
    }
    pool_[place].next = free_;
    free_ = place;
    return pool_[place].done;
  }

  // What of the booked service lies before `time`, given what lay before an earlier one. Beyond
  // `time` the channel is busy without a gap until it is free. Bytes booked since the earlier time
  // count as spread evenly over the time booked since.
  static ChannelBin done_by(SimTime time, const ChannelState& state, const ChannelBin& before) {
    ChannelBin done{state.busy_ps, state.read, state.written, 0};
    if (state.free_at > time) {
      const std::int64_t beyond_ps = (state.free_at - time).ps();
      const auto to_come = [&](std::uint64_t booked) {
        return static_cast<std::uint64_t>(
            static_cast<Wide>(booked) * static_cast<std::uint64_t>(beyond_ps) /
            static_cast<std::uint64_t>(state.busy_ps - before.busy_ps));
      };
      done.busy_ps -= beyond_ps;
      done.read -= to_come(state.read - before.read);
      done.written -= to_come(state.written - before.written);
    }
    return done;
  }

  const machine::Machine& machine_;
  ChannelParameters parameters_;
  unsigned slot_;
  unsigned network_slot_;
  std::vector<std::uint32_t> last_of_;  // [local entities] last of a ring in the pool, oldest first
  std::vector<Outstanding> pool_;
  std::uint32_t free_ = Outstanding::none;
  std::vector<std::uint32_t> channel_at_;  // [entities] channel there, or none
  std::vector<std::uint32_t> local_channels_;
  std::vector<LocalChannel> channels_by_index_;
  std::vector<ChannelState> states_;  // [channels]; those of other ranks stay at rest
  std::vector<ChannelBin> bins_;
  std::vector<Sharing> sharing_;  // [channels], where they are shared evenly
  std::optional<machine::Sharers> sharers_;
  ChannelUseSink bin_sink_;
  SimTime bin_begin_;
  std::optional<LeavingReplies> replies_;  // of a run on several ranks
  ReplySink reply_sink_;
  ReplySink booked_sink_;
};

}  // namespace

std::unique_ptr<Memory> make_channel_memory(const MemorySetup& setup,
                                            const ChannelParameters& parameters) {
  return std::make_unique<ChannelMemory>(setup, parameters);
}

std::size_t channel_bytes() {
  return sizeof(ChannelState) + sizeof(ChannelBin);
}

}  // namespace tessera::memory
