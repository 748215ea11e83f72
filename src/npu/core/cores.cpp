#include "tessera/npu/core/cores.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "core/asking_cores.hpp"
#include "core/dma.hpp"
#include "tessera/compute/messages.hpp"
#include "tessera/core/error.hpp"
#include "tessera/memory/messages.hpp"
#include "tessera/npu/idle_time.hpp"
#include "tessera/npu/messages.hpp"

namespace tessera::npu {
namespace {

// Port kinds beside compute::execute_kind and share_kind.
constexpr unsigned wake_kind = 2;
constexpr unsigned begin_move_kind = 3;
constexpr unsigned accessed_kind = 4;

// Who asked for a share, in Share::word.
struct Asker {
  pdes::Port done;
  std::uint16_t tag = 0;
  bool of_chip = false;

  std::uint64_t word() const {
    return done.code() | std::uint64_t{tag} << 8U | (of_chip ? std::uint64_t{1} << 24U : 0);
  }
  static Asker from(std::uint64_t word) {
    return {pdes::Port::from_code(static_cast<std::uint8_t>(word)),
            static_cast<std::uint16_t>(word >> 8U), (word >> 24U & 1) != 0};
  }
};

// What was done when the last bin ended.
struct Done {
  std::int64_t matrix_ps = 0;
  std::int64_t vector_ps = 0;
  std::int64_t dma_ps = 0;
  CoreUse use;
};

struct Core {
  Core(const CoreConfig& config, ProgramStore& programs, Clock the_clock)
      : engine(config, programs), clock(the_clock) {}

  CoreEngine engine;
  Clock clock;
  Dma dma;
  SimTime wake_at = SimTime::never();
  SimTime move_at = SimTime::never();
  SimTime sram_free;
  SimTime dma_since;
  std::int64_t dma_ps = 0;
  Done binned;
};

class Cores final : public compute::Compute {
 public:
  explicit Cores(const CoresSetup& setup)
      : machine_(setup.machine),
        members_(setup.members),
        config_(setup.core),
        programs_(setup.operators),
        own_operands_(setup.own_operands),
        slot_(setup.slot),
        memory_slot_(setup.memory_slot),
        place_of_(setup.members.size(), no_core) {}

  void handle(pdes::Context& context, const pdes::Event& event) override {
    Core& core = core_at(context.index());
    switch (event.port.kind()) {
      case compute::execute_kind: {
        const auto request = event.as<compute::ExecuteRequest>();
        take(core, {.number = request.operation, .done = request.done},
             {request.done, event.tag, false});
        break;
      }
      case share_kind: {
        const auto request = event.as<ShareRequest>();
        take(core, request, {request.done, event.tag, true});
        break;
      }
      case wake_kind:
        if (context.now() != core.wake_at) {
          context.pass();  // it has gone on since
          return;
        }
        core.wake_at = SimTime::never();
        break;
      case begin_move_kind:
        core.move_at = SimTime::never();
        pump(context, core);
        note_stand(context, core);
        return;
      default:
        end_access(context, core, event.tag);
        break;
    }
    go_on(context, core);
    note_stand(context, core);
  }

  const char* name() const override { return "cores"; }

  std::optional<pdes::Outlook> outlook(std::uint32_t rank, const pdes::Moment& moment) override {
    return asking_ ? std::optional(asking_->outlook(rank, moment.next)) : std::nullopt;
  }
  void promise_accesses(const compute::OperandWays& ways) override {
    asking_.emplace(ways, members_, config_.operands == Operands::memory,
                    machine_.topology->smallest_latency());
  }

  void pass_boundary(SimTime boundary) override {
    if (!bin_sink_) {
      return;
    }
    for (std::size_t index = 0; index < place_of_.size(); ++index) {
      if (place_of_[index] == no_core) {
        continue;
      }
      Core& core = cores_[place_of_[index]];
      const Done now = done_by(core, boundary);
      if (differ(now, core.binned)) {
        bin_sink_(use_between(members_[index], bin_begin_, boundary, core.binned, now));
      }
      core.binned = now;
    }
    bin_begin_ = boundary;
  }

  void visit_cores(SimTime end, const compute::CoreUseSink& sink) const override {
    for (std::size_t index = 0; index < place_of_.size(); ++index) {
      if (place_of_[index] != no_core) {
        sink(use_between(members_[index], SimTime::zero(), end, {},
                         done_by(cores_[place_of_[index]], end)));
      }
    }
  }
  void report_bins(compute::CoreUseSink sink) override { bin_sink_ = std::move(sink); }

  std::vector<std::string> waiting(std::size_t most) const override {
    std::vector<std::string> lines;
    for (std::size_t index = 0; index < place_of_.size(); ++index) {
      if (place_of_[index] == no_core) {
        continue;
      }
      const Core& core = cores_[place_of_[index]];
      for (const CoreEngine::Unfinished& one : core.engine.unfinished()) {
        if (lines.size() == most) {
          return lines;
        }
        const std::string name = programs_.source().name_of(one.number);
        lines.push_back("core at node " + std::to_string(members_[index].value()) + ": " + name +
                        ", " + one.where + "; " + std::to_string(core.dma.open()) +
                        " accesses to memory under way");
      }
    }
    return lines;
  }

  void save(std::uint32_t index, pdes::StateWriter& writer) const override {
    const bool there = place_of_[index] != no_core;
    writer.put(there);
    if (!there) {
      return;
    }
    const Core& core = cores_[place_of_[index]];
    core.engine.save(writer);
    core.dma.save(writer);
    writer.put(core.wake_at);
    writer.put(core.move_at);
    writer.put(core.sram_free);
    writer.put(core.dma_since);
    writer.put(core.dma_ps);
    writer.put(core.binned);
    writer.put(bin_begin_);
  }

  void restore(std::uint32_t index, pdes::StateReader& reader) override {
    if (!reader.get<bool>()) {
      return;
    }
    Core& core = core_at(index);
    core.engine.restore(reader);
    core.dma.restore(reader);
    core.wake_at = reader.get<SimTime>();
    core.move_at = reader.get<SimTime>();
    core.sram_free = reader.get<SimTime>();
    core.dma_since = reader.get<SimTime>();
    core.dma_ps = reader.get<std::int64_t>();
    core.binned = reader.get<Done>();
    bin_begin_ = reader.get<SimTime>();
    if (asking_) {
      asking_->stand(index, SimTime::zero(), stand_of(core));
    }
  }

  std::size_t resident_bytes() const override {
    std::size_t bytes = place_of_.capacity() * sizeof(std::uint32_t) +
                        cores_.size() * sizeof(Core) + programs_.resident_bytes();
    for (const Core& core : cores_) {
      bytes += core.engine.resident_bytes() + core.dma.resident_bytes();
    }
    return bytes;
  }

 private:
  static constexpr std::uint32_t no_core = std::numeric_limits<std::uint32_t>::max();

  // Nodes that never compute have none.
  Core& core_at(std::uint32_t index) {
    std::uint32_t& place = place_of_[index];
    if (place == no_core) {
      place = static_cast<std::uint32_t>(cores_.size());
      cores_.emplace_back(config_, programs_, clock_at(members_[index]));
    }
    return cores_[place];
  }

  // A slower node has a slower clock.
  Clock clock_at(EntityId node) const {
    const auto speed = machine_.speeds.find(node);
    if (speed == machine_.speeds.end()) {
      return config_.clock;
    }
    const std::uint64_t slow =
        scaled(FlopRate::flops_per_second(config_.clock.frequency_hz()), speed->second)
            .flops_per_second();
    return Clock::hertz(std::max<std::uint64_t>(slow, 1));
  }

  static void take(Core& core, const ShareRequest& request, const Asker& asker) {
    Share share;
    share.number = request.number;
    share.group = request.first;
    share.stride = request.stride;
    share.priority = request.priority;
    share.word = asker.word();
    core.engine.add(share);
  }

  void go_on(pdes::Context& context, Core& core) {
    struct Scene {
      pdes::Context& context;
      Core& core;
    } scene{context, core};
    const Cycle wake = core.engine.run(
        cycle_at(core.clock, context.now()),
        {[&scene](Cycle cycle, const Transfer& transfer) { scene.core.dma.add(cycle, transfer); },
         [&scene](Cycle cycle, const Share& share) {
           report(scene.context, scene.core, cycle, share);
         }});
    pump(context, core);
    if (wake == unknown_cycle) {
      return;
    }
    const SimTime time = core.clock.time_of_cycle(wake);
    if (core.wake_at != time) {
      core.wake_at = time;
      context.send_self(time - context.now(), pdes::Port(slot_, wake_kind), std::uint32_t{0});
    }
  }

  // Where a core stands whose accesses may be of concern to another rank.
  static AskingCores::Stand stand_of(const Core& core) {
    return {core.dma.is_busy(), std::min(core.wake_at, core.move_at)};
  }
  void note_stand(pdes::Context& context, const Core& core) {
    if (asking_) {
      asking_->stand(context.index(), context.now(), stand_of(core));
    }
  }

  static void report(pdes::Context& context, const Core& core, Cycle cycle, const Share& share) {
    const SimTime delay = core.clock.time_of_cycle(cycle) - context.now();
    const Asker asker = Asker::from(share.word);
    if (asker.of_chip) {
      context.send_self(delay, asker.done, ShareDone{share.number}, asker.tag);
    } else {
      context.send_self(delay, asker.done, std::uint32_t{0}, asker.tag);
    }
  }

  // Begins accesses of blocks whose time has come.
  void pump(pdes::Context& context, Core& core) {
    while (core.dma.next_begin() != unknown_cycle) {
      const SimTime begin = core.clock.time_of_cycle(core.dma.next_begin());
      if (begin > context.now()) {
        if (begin < core.move_at) {
          core.move_at = begin;
          context.send_self(begin - context.now(), pdes::Port(slot_, begin_move_kind),
                            std::uint32_t{0});
        }
        return;
      }
      const bool was_busy = core.dma.is_busy();
      const auto next = core.dma.next(config_.dma);
      if (!next) {
        return;
      }
      if (!was_busy) {
        core.dma_since = context.now();
      }
      access(context, core, next->first, *next->second);
    }
  }

  void access(pdes::Context& context, Core& core, const Access& access, const Transfer& transfer) {
    const pdes::Port done(slot_, accessed_kind);
    if (config_.operands == Operands::sram) {
      const Bandwidth bandwidth = machine_.operand_bandwidth(machine_.tile_of(context.self()));
      core.sram_free = std::max(core.sram_free, context.now()) +
                       (bandwidth > Bandwidth() ? serialization_time(Bytes(access.bytes), bandwidth)
                                                : SimTime::zero());
      context.send_self(core.sram_free - context.now(), done, std::uint32_t{0}, access.tag);
      return;
    }
    const std::uint64_t own =
        own_operands_ ? std::uint64_t{context.self().value()} * programs_.source().memory_end() : 0;
    memory::access(
        context, memory_slot_,
        memory::Address(own + programs_.source().operand_begin(transfer.number, transfer.operand) +
                        access.offset),
        Bytes(access.bytes), transfer.store, done, access.tag);
  }

  void end_access(pdes::Context& context, Core& core, std::uint16_t tag) {
    const auto transfer = core.dma.end(tag);
    if (!core.dma.is_busy()) {
      core.dma_ps += (context.now() - core.dma_since).ps();
    }
    if (transfer) {
      core.engine.moved(cycle_at(core.clock, context.now()), *transfer);
    }
  }

  // Units work without a gap from `time` until what is booked is over.
  static Done done_by(const Core& core, SimTime time) {
    const auto until = [&](std::uint64_t busy, Cycle booked) {
      const SimTime all = core.clock.time_of_cycle(busy);
      const SimTime end = core.clock.time_of_cycle(booked);
      return end > time ? std::max<std::int64_t>(0, (all - (end - time)).ps()) : all.ps();
    };
    const CoreUse& use = core.engine.use();
    Done done{until(use.matrix_busy, core.engine.matrix_booked_until()),
              until(use.vector_busy, core.engine.vector_booked_until()), core.dma_ps, use};
    if (core.dma.is_busy() && time > core.dma_since) {
      done.dma_ps += (time - core.dma_since).ps();
    }
    return done;
  }

  static bool differ(const Done& a, const Done& b) {
    return a.matrix_ps != b.matrix_ps || a.vector_ps != b.vector_ps || a.dma_ps != b.dma_ps ||
           a.use.loaded != b.use.loaded || a.use.stored != b.use.stored ||
           a.use.tiles != b.use.tiles || a.use.matrix_active != b.use.matrix_active;
  }

  static compute::CoreUse use_between(EntityId node, SimTime begin, SimTime end, const Done& before,
                                      const Done& now) {
    return {node,
            begin,
            end,
            SimTime::from_ps(now.matrix_ps - before.matrix_ps),
            SimTime::from_ps(now.vector_ps - before.vector_ps),
            SimTime::from_ps(now.dma_ps - before.dma_ps),
            now.use.matrix_active - before.use.matrix_active,
            Bytes(now.use.loaded - before.use.loaded),
            Bytes(now.use.stored - before.use.stored),
            now.use.tiles - before.use.tiles};
  }

  const machine::Machine& machine_;
  std::span<const EntityId> members_;
  const CoreConfig& config_;
  ProgramStore programs_;
  bool own_operands_;
  unsigned slot_;
  unsigned memory_slot_;
  std::vector<std::uint32_t> place_of_;  // [local entities] in cores_
  std::vector<Core> cores_;
  compute::CoreUseSink bin_sink_;
  SimTime bin_begin_;
  std::optional<AskingCores> asking_;  // of a run on several ranks
};

}  // namespace

std::uint64_t bytes_of_operands(const std::vector<const TiledOperator*>& operators) {
  return ListedOperators(operators).memory_end();
}

std::unique_ptr<compute::Compute> make_cores(const CoresSetup& setup) {
  return std::make_unique<Cores>(setup);
}

}  // namespace tessera::npu
